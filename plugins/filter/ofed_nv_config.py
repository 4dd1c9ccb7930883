"""Compare the NV configuration of an adapter, as `mlxconfig -e query` prints it, with the declared one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools import mlxconfig
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.mlxconfig import same

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

UNLOCK = "ADVANCED_PCI_SETTINGS"


def _rows(text: str) -> dict[str, mlxconfig.Parameter]:
    try:
        return mlxconfig.parse_configuration(text)
    except mlxconfig.UnreadableConfigurationError:
        return {}


def refused(answers: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """The answers, as Ansible registers them, to queries that the tool refused because of a parameter.

    Args:
        answers: registered results of `mlxconfig` in a loop.
    """
    return [a for a in answers if not a.get("skipped") and mlxconfig.refused_parameter(_printed(a))]


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
    rows = _rows(text)
    fixed = {n: mlxconfig.fixed_link_type(n, link_layer) for n in declared}
    absent = [n for n, v in declared.items() if n not in rows and not (fixed[n] and same(v, fixed[n]))]
    unlocking = UNLOCK in declared and same(declared[UNLOCK], "True(1)") and UNLOCK in rows and not same(1, rows[UNLOCK].current)
    present = {name: value for name, value in declared.items() if name in rows}
    return {
        "set": [f"{name}={_word(value)}" for name, value in present.items() if not same(value, rows[name].next_boot)],
        "reset": [n for n, v in present.items() if same(v, rows[n].next_boot) and not same(v, rows[n].current)],
        "waiting": absent if unlocking else [],
        "missing": [] if unlocking else absent,
        "readable": bool(rows) or bool(mlxconfig.refused_parameter(text)),
    }


def pending(answer: Mapping[str, str], declared: Mapping[str, Any]) -> list[str]:
    """Parameters of a device, of which `answer` has `text` and `link_layer`, that a reset applies or reveals.

    Args:
        answer: `text` and `link_layer` of a device.
        declared: parameter -> value.
    """
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
    changing = [
        address for address, p in plans.items() if any(mlxconfig.is_link_type(word.partition("=")[0]) for word in [*p["set"], *p["reset"]])
    ]
    cards = {address.rpartition(".")[0] for address in changing}
    return sorted(name for name, device in devices.items() if device["address"].rpartition(".")[0] in cards)


def waiting(answers: Sequence[Mapping[str, str]], declared: Mapping[str, Any]) -> list[str]:
    """Declared values that are stored and not in force, of all devices, for people. After a reset: what it did not bring.

    NVIDIA requires a power cycle then (mstflint issue 1191): an adapter keeps power through a warm reboot.

    Args:
        answers: `address`, `text`, `link_layer` of each device.
        declared: parameter -> value.
    """
    result = []
    for answer in answers:
        rows = _rows(answer["text"])
        result += [
            f"{answer['address']} {name}: {rows[name].current} in force, {rows[name].next_boot} stored"
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
