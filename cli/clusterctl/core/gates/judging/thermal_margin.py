"""GPUs that are about to slow down by their heat where their equals are not. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.gates.judging.errors_alone import usual_most
from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.judging.peers import LEAST_PEERS
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterator, Mapping

    from clusterctl.core.gates.judging.gpu_trace import Loaded
    from clusterctl.core.gates.judging.power_limits import Key

# Assumed, in degrees: a GPU is at its end from three on, and by itself where all equals but the worst twentieth have ten more. Places in a chassis differ by as much.
_AT_ITS_END_C, _LESS_C = 3.0, 10.0


def hot_alone(gate: str, loaded: Mapping[Key, Loaded], classes: Mapping[str, Hashable]) -> Iterator[GateResult]:
    """A warning for each of them; one without any margin is judged by itself.

    Args:
        gate: its name.
        loaded: (node, GPU) -> what it showed under load.
        classes: node -> what makes its GPUs equal to those of others.
    """
    margins: dict[Hashable, list[float]] = {}
    for (node, _gpu), load in loaded.items():
        if load.margin_c is not None:
            margins.setdefault(classes[node], []).append(load.margin_c)
    usual = {key: -usual_most([-margin for margin in own]) for key, own in margins.items() if len(own) >= LEAST_PEERS}
    for (node, gpu), load in sorted(loaded.items()):
        others = usual.get(classes[node])
        if load.margin_c is None or others is None or not 0 < load.margin_c <= min(_AT_ITS_END_C, others - _LESS_C):
            continue
        yield GateResult(
            gate,
            node,
            Outcome.WARN,
            "margin",
            "thermal_margin",
            device=gpu,
            expected=f">= {limit_text(others)} C, as almost all equal GPUs",
            found=f"{limit_text(load.margin_c)} C",
            source="equal GPUs under the same load",
            detail="left to the temperature at which it slows down",
            reason=GateReason.BELOW_PEERS,
            value=load.margin_c,
            unit="C",
        )
