"""Steps for which the record of clusterctl has no data: reported as skipped, with the reason."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from site_answers import NotAnsweredError, NotShownError, Option, Site, report

if TYPE_CHECKING:
    import argparse

_WHY: dict[str, tuple[str, dict[str, Any]]] = {
    "query_switch_firmware": ("clusterctl reads no NVSwitch trays", {"trays": []}),
}


def read(_site: Site, given: argparse.Namespace) -> dict[str, Any]:
    """Always raises: no step has data."""
    if given.step not in _WHY:
        raise NotAnsweredError(f"no step is called {given.step!r}; there are {', '.join(_WHY)}")
    why, fields = _WHY[given.step]
    raise NotShownError(why, **fields)


if __name__ == "__main__":
    sys.exit(report("not_recorded", __doc__, read, Option("step", "the step of the suite", required=True)))
