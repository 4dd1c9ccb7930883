"""What the state of a leak detector means. Pure; also for nodes, which lack the Redfish client."""

from typing import List, Mapping

_DRY = "OK"


def leaks(states: Mapping[str, str]) -> List[str]:
    """The detectors that are not dry, with their state; one whose state is not known may be wet."""
    return ["{} {}".format(name, state or "unknown") for name, state in states.items() if state != _DRY]
