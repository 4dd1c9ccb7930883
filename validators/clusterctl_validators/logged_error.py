"""An error that the kernel logged about a device."""

from dataclasses import dataclass
from typing import Dict, Iterable, List

_MOST = 5


@dataclass(frozen=True)
class LoggedError:
    """One line.

    Attributes:
        device: as the line names it.
        recovered: the driver or the device went on by itself, and nothing was lost.
        time: as logged; empty without a year.
        action: what a person does next about such an error.
    """

    device: str
    detail: str
    recovered: bool
    time: str
    action: str


def next_action(errors: Iterable[LoggedError]) -> str:
    """The actions of the errors, each once, in the order of the log."""
    return "; ".join(dict.fromkeys(e.action for e in errors))


def shown(errors: Iterable[LoggedError]) -> str:
    """The first error of each device, and how many it has; empty if there is none."""
    by_device: Dict[str, List[LoggedError]] = {}
    for error in errors:
        by_device.setdefault(error.device, []).append(error)
    texts = [_of_device(own) for own in by_device.values()]
    return "; ".join(texts[:_MOST]) + (" and {} more devices".format(len(texts) - _MOST) if len(texts) > _MOST else "")


def _of_device(own: List[LoggedError]) -> str:
    first = own[0]
    time = " ({})".format(first.time) if first.time else ""
    return "{}: {}{}{}".format(first.device, first.detail[:80], time, "; {} in all".format(len(own)) if len(own) > 1 else "")
