"""The type of options that name a point in time."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import rich_click as click

from clusterctl.core.timestamps import in_utc

if TYPE_CHECKING:
    from click import Context, Parameter

_LENGTH = 27
# Maintenance windows are computed some days ahead of a moment.
_END_OF_TIME = "9999"


class Moment(click.ParamType[str]):
    """A point in time with its offset from UTC."""

    name = "time"

    def convert(self, value: Any, param: Parameter | None, ctx: Context | None) -> str:
        """The moment in UTC, as the record has it."""
        try:
            found = in_utc(str(value))
        except (ValueError, OverflowError):
            found = ""
        if len(found) != _LENGTH or found >= _END_OF_TIME:  # a year before 1000 would not sort
            example = "2026-12-01T22:00+01:00, or 2026-12-01T21:00Z"
            self.fail(f"{value!r} must be a date and a time of the years 1000 to 9998 with its offset from UTC: {example}.", param, ctx)
        return found


MOMENT = Moment()
