"""The type of options that take names with commas between them."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from click import Context, Parameter


class Names(click.ParamType[tuple[str, ...]]):
    """Names with commas between them; at least one, because an empty list leaves nothing out."""

    name = "names"

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> tuple[str, ...]:
        """The names without blanks around them; `click` also converts the default, which is a tuple."""
        if isinstance(value, tuple):
            return value
        names = tuple(name.strip() for name in str(value).split(",") if name.strip())
        if not names:
            self.fail(f"{value!r} contains no name.", param, ctx)
        return names


names_option = partial(click.option, type=Names(), default=())
