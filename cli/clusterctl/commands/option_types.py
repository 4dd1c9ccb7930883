"""Types of options that click does not have."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import rich_click as click

if TYPE_CHECKING:
    from click import Context, Parameter


_SPAN = re.compile(r"([0-9]{1,7})([smhd])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400}
_LONGEST_SPAN_S = 30 * 86_400
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
    """Text that is not blank."""

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


class TimeSpanS(click.ParamType[int]):
    """A whole number of seconds, minutes, hours or days, up to 30 days; in seconds."""

    name = "duration"

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> int:
        """The seconds; `click` hands on a number that it has converted before."""
        if isinstance(value, int):
            return value
        found = _SPAN.fullmatch(value)
        seconds = int(found[1]) * _SECONDS[found[2]] if found else 0
        if not 0 < seconds <= _LONGEST_SPAN_S:
            self.fail(f"{value!r} must be 1s to 30d: a whole number and s, m, h or d.", param, ctx)
        return seconds


TIMEOUT_S = FiniteRange(1, 86_400)
SENTENCE = Sentence()
CODE = Code()
TIME_SPAN_S = TimeSpanS()
