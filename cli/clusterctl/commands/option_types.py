"""Types of options that click does not have."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from click import Context, Parameter


_CODE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")


class FiniteRange(click.FloatRange):
    """A range of numbers without NaN, which compares with nothing, and infinity."""

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> float:
        """The number, if it is one."""
        number = float(super().convert(value, param, ctx))
        if not math.isfinite(number):
            self.fail(f"{value!r} is not a finite number.", param, ctx)
        return number


class Sentence(click.ParamType[str]):
    """Text that says something."""

    name = "text"

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> str:
        """The text without blanks around it."""
        text = str(value).strip()
        if not text:
            self.fail("is empty.", param, ctx)
        return text


class Code(click.ParamType[str]):
    """A word for programs, of characters that neither a scheduler nor a shell reads otherwise; up to 32."""

    name = "code"

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> str:
        """The word as it is."""
        if not _CODE.fullmatch(value):
            self.fail(f"{value!r} must be 1 to 32 letters, digits, `.`, `_` or `-`, and begin with a letter or digit.", param, ctx)
        return str(value)


TIMEOUT_S = FiniteRange(1, 86_400)
SENTENCE = Sentence()
CODE = Code()
