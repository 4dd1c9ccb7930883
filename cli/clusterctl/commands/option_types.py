"""Types of options that click does not have."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from click import Context, Parameter


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


TIMEOUT_S = FiniteRange(1, 86_400)
SENTENCE = Sentence()
