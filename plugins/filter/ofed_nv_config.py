"""Compare the NV configuration of an adapter, as `mlxconfig -e query` prints it, with the declared one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_ROW = re.compile(r"^\s*(?:\*\s*)?(?:RO\s+)?(?P<name>[A-Z][A-Z0-9_]*)\s+(?P<values>\S.*?)\s*$")
# A long value fills its column, so the next one may follow without a blank.
_VALUE = re.compile(r"[^\s()]*\([^()]*\)|[^\s()]+")
_COLUMNS = 3
# A query that names a parameter is refused as a whole, by these words (mstflint 4.21, 4.30 and 4.34, MFT 4.34.1: mlxcfg_generic_commander.cpp
# for what the adapter lacks or hides, mlxcfg_db_manager.cpp for what the tool does not know).
_REFUSED = re.compile(
    r"The Device doesn't support (?P<a>\S+) parameter|Unknown Parameter:? (?P<b>\S+)|Failed to find Param / TLV with name '(?P<c>[^']+)'"
)
# Values of LINK_TYPE_P1 -> link layer of sysfs. ConnectX-4 Lx has one link type and no such parameter (openshift/sriov-network-operator issue 48).
_LINK_TYPE = re.compile(r"LINK_TYPE_P\d")
_LINK_LAYERS = {"InfiniBand": "IB(1)", "Ethernet": "ETH(2)"}
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


def refused(answers: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The answers, as Ansible registers them, to queries that the tool refused because of a parameter."""
    return [a for a in answers if not a.get("skipped") and _REFUSED.search(_printed(a))]


def answers_of_devices(named: Sequence[Mapping[str, Any]], single: Sequence[Mapping[str, Any]]) -> list[dict[str, str]]:
    """One answer for each device: that to the query of all names, and those to the queries of one name each.

    Args:
        named: registered results; `item` is a device with `address` and `link_layer`. Skipped ones are left out.
        single: registered results; the first part of `item` is one of `named`.

    Returns:
        `address`, `link_layer`, `text` (of all queries), `error` (of the first) of each device.
    """
    result = []
    for answer in (a for a in named if not a.get("skipped")):
        device = answer["item"]
        texts = [_printed(answer), *(_printed(s) for s in single if s["item"][0]["item"]["address"] == device["address"])]
        error = answer.get("stderr") or answer.get("msg") or ""
        result.append({"address": device["address"], "link_layer": device.get("link_layer", ""), "text": "\n".join(texts), "error": error})
    return result


def _printed(answer: Mapping[str, Any]) -> str:
    return "\n".join(str(answer.get(stream) or "") for stream in ("stdout", "stderr"))


def plan(declared: Mapping[str, Any], text: str, link_layer: str = "") -> dict[str, Any]:
    """The changes for one device.

    Args:
        declared: parameter -> value.
        text: what the tool printed about it.
        link_layer: its link layer in sysfs; an adapter without the parameter LINK_TYPE_P1 has only this one.

    Returns:
        set: `NAME=value` words for parameters whose value for the next boot differs.
        reset: parameters that are right for the next boot but not yet in force.
        waiting: hidden parameters that a reset reveals, because the declared ADVANCED_PCI_SETTINGS is not in force yet.
        missing: parameters that this device does not support, or hides for another reason.
        readable: whether the tool printed a configuration, or refused a parameter by name.
    """
    rows = parse(text)
    fixed = _LINK_LAYERS.get(link_layer, "")
    absent = [n for n, v in declared.items() if n not in rows and not (fixed and _LINK_TYPE.fullmatch(n) and same(v, fixed))]
    unlocking = UNLOCK in declared and same(declared[UNLOCK], "True(1)") and UNLOCK in rows and not same(1, rows[UNLOCK]["current"])
    present = {name: value for name, value in declared.items() if name in rows}
    return {
        "set": [f"{name}={_word(value)}" for name, value in present.items() if not same(value, rows[name]["next"])],
        "reset": [n for n, v in present.items() if same(v, rows[n]["next"]) and not same(v, rows[n]["current"])],
        "waiting": absent if unlocking else [],
        "missing": [] if unlocking else absent,
        "readable": bool(rows) or bool(_REFUSED.search(text)),
    }


def pending(answer: Mapping[str, str], declared: Mapping[str, Any]) -> list[str]:
    """Parameters of a device, of which `answer` has `text` and `link_layer`, that a reset applies or reveals."""
    changes = plan(declared, answer["text"], answer["link_layer"])
    return [*changes["reset"], *changes["waiting"]]


def relinked(answers: Sequence[Mapping[str, str]], declared: Mapping[str, Any], devices: Mapping[str, Mapping[str, str]]) -> list[str]:
    """The RDMA devices of cards whose link type changes, now or at the next boot.

    Args:
        answers: `address`, `text`, `link_layer` of each device.
        declared: parameter -> value.
        devices: RDMA device -> `address`. Configuration belongs to the card: a function may set LINK_TYPE_P1, which is the port of another one.
    """
    plans = {a["address"]: plan(declared, a["text"], a["link_layer"]) for a in answers}
    changing = [address for address, p in plans.items() if any(_LINK_TYPE.match(word) for word in [*p["set"], *p["reset"]])]
    cards = {address.rpartition(".")[0] for address in changing}
    return sorted(name for name, device in devices.items() if device["address"].rpartition(".")[0] in cards)


def waiting(answers: Sequence[Mapping[str, str]], declared: Mapping[str, Any]) -> list[str]:
    """Declared values that are stored and not in force, of all devices, for people. After a reset: what it did not bring.

    NVIDIA asks for a power cycle then (mstflint issue 1191): an adapter keeps power through a warm reboot.
    """
    result = []
    for answer in answers:
        rows = parse(answer["text"])
        result += [
            f"{answer['address']} {name}: {rows[name]['current']} in force, {rows[name]['next']} stored"
            for name in plan(declared, answer["text"], answer["link_layer"])["reset"]
        ]
    return result


def _word(value: Any) -> str:
    return str(int(value)) if isinstance(value, bool) else str(value)


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {
            "ofed_nv_answers": answers_of_devices,
            "ofed_nv_pending": pending,
            "ofed_nv_plan": plan,
            "ofed_nv_refused": refused,
            "ofed_nv_relinked": relinked,
            "ofed_nv_waiting": waiting,
        }
