"""Compare the NV configuration of an adapter, as `mlxconfig -e query` prints it, with the declared one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_ROW = re.compile(r"^\s*(?:\*\s*)?(?:RO\s+)?(?P<name>[A-Z][A-Z0-9_]*)\s+(?P<values>\S.*?)\s*$")
# A long value fills its column, so the next one may follow without a blank.
_VALUE = re.compile(r"[^\s()]*\([^()]*\)|[^\s()]+")
_COLUMNS = 3
UNLOCK = "ADVANCED_PCI_SETTINGS"


def parse(text: str) -> dict[str, dict[str, str]]:
    """Parameter -> `default`, `current`, `next` as printed, e.g. `True(1)`; empty without the three columns."""
    rows: dict[str, dict[str, str]] = {}
    inside = False
    for line in text.splitlines():
        if line.startswith("Configurations:"):
            inside = bool(re.search(r"Default\s+Current\s+Next Boot", line))
            continue
        row = _ROW.match(line) if inside else None
        values = _VALUE.findall(row["values"]) if row else []
        if row and len(values) == _COLUMNS:
            rows[row["name"]] = dict(zip(("default", "current", "next"), values, strict=True))
    return rows


def same(declared: Any, printed: str) -> bool:
    """Whether `1`, `true` or `ETH` equals what mlxconfig prints as `True(1)` or `ETH(2)`."""
    found = re.fullmatch(r"(?P<word>[^()]*)\((?P<number>[^()]*)\)", printed)
    names = {found["word"].lower(), found["number"].lower()} if found else {printed.lower()}
    expected = str(int(declared)) if isinstance(declared, bool) else str(declared).lower()
    return expected in names or any(_number(expected) == _number(n) is not None for n in names)


def _number(text: str) -> int | None:
    try:
        return int(text, 0)
    except ValueError:
        return None


def plan(declared: Mapping[str, Any], text: str) -> dict[str, Any]:
    """The changes for one device.

    Returns:
        set: `NAME=value` words for parameters whose value for the next boot differs.
        reset: parameters that are right for the next boot but not yet in force.
        waiting: hidden parameters that a reset reveals, because the declared ADVANCED_PCI_SETTINGS is not in force yet.
        missing: parameters that this device does not support, or hides for another reason.
        readable: whether the tool printed a configuration at all.
    """
    rows = parse(text)
    absent = [name for name in declared if name not in rows]
    unlocking = UNLOCK in declared and same(declared[UNLOCK], "True(1)") and UNLOCK in rows and not same(1, rows[UNLOCK]["current"])
    present = {name: value for name, value in declared.items() if name in rows}
    return {
        "set": [f"{name}={_word(value)}" for name, value in present.items() if not same(value, rows[name]["next"])],
        "reset": [n for n, v in present.items() if same(v, rows[n]["next"]) and not same(v, rows[n]["current"])],
        "waiting": absent if unlocking else [],
        "missing": [] if unlocking else absent,
        "readable": bool(rows),
    }


def pending(text: str, declared: Mapping[str, Any]) -> list[str]:
    """Parameters of a device that a reset applies or reveals."""
    changes = plan(declared, text)
    return [*changes["reset"], *changes["waiting"]]


def _word(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {"ofed_nv_plan": plan, "ofed_nv_pending": pending}
