"""What the state of a leak detector means. Pure; also for nodes, which lack the Redfish client."""

from typing import List, Mapping

_DRY = "OK"
_WET = frozenset({"Warning", "Critical"})


def leaks(states: Mapping[str, str]) -> List[str]:
    """The detectors that report a leak, with their state."""
    return ["{} {}".format(name, state) for name, state in states.items() if state in _WET]


def without_reading(states: Mapping[str, str]) -> List[str]:
    """The detectors that report neither that they are dry nor a leak, with what they state: they do not watch."""
    return ["{} {}".format(name, state or "unknown") for name, state in states.items() if state != _DRY and state not in _WET]
