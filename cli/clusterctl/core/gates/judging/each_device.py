"""The devices of a node that pass, in one result: the worst is its value, and each has its own, which its history compares. Pure."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.model.gate_result import DeviceValue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.model.gate_result import GateResult


def passing_devices(blank: GateResult, values: Mapping[str, float], *, beside_bad: bool) -> GateResult:
    """`blank` with the values of `values`, by device, of which there is one at least; `beside_bad`: other devices of the node are results of their own."""
    worst = min(values.values())
    return replace(
        blank,
        found=f"{limit_text(worst)} to {limit_text(max(values.values()))} {blank.unit}",
        detail=f"the other {len(values)}" if beside_bad else "",
        value=worst,
        by_device=tuple(DeviceValue(*item) for item in sorted(values.items())),
    )
