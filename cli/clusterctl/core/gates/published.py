"""The best published measurements of each class of node, and floors that are far below them. Pure, but for its own data file."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import TYPE_CHECKING, Annotated

import yaml
from pydantic import BaseModel, ConfigDict, Field, TypeAdapter

from clusterctl.core.gates.judging.limits import floors, limit_text
from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.core.gates.settings import GateSettings
    from clusterctl.model.gate_result import Baseline

# The project's own limit: a device that lost half of its lanes or links reads 50 % and must never pass; published numbers vary by 10 to 20 %.
LEAST_SHARE = 0.6


class Published(BaseModel):
    """A measurement that someone published, of the class of nodes that its keys describe; a key that is left out holds for all.

    Attributes:
        gpus: GPU models, as nvidia-smi prints them.
        rate_gbps: line rate of each adapter. network_gbps: of all adapters of a node together.
        transport: what the gate requires (`require_transport`).
        nodes: number of nodes that were measured; None for a gate of one node or of a pair.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    gate: str
    metric: str
    op: str = ""
    size_bytes: int | None = None
    gpus: list[str] = []
    rate_gbps: int | None = None
    network_gbps: int | None = None
    transport: str = ""
    nodes: int | None = None
    value: Annotated[float, Field(gt=0)]
    unit: str
    source: Annotated[str, Field(min_length=1)]
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}$")]


@cache
def published() -> tuple[Published, ...]:
    """Every entry of published.yml."""
    text = resources.files(__package__).joinpath("published.yml").read_text(encoding="utf-8")
    return TypeAdapter(tuple[Published, ...]).validate_python(tuple(yaml.safe_load(text)))


def comparable_with(
    baseline: Baseline, settings: Mapping[str, GateSettings], *, gpu_model: str, hcas: Sequence[Hca]
) -> tuple[Published, ...]:
    """What was published about the same figure of nodes with these devices and settings (by gate)."""
    return tuple(p for p in published() if _is_same_figure(p, baseline) and _is_of(p, gpu_model, hcas, settings))


def published_problems(
    entries: Sequence[Baseline], settings: Mapping[str, GateSettings], *, gpu_model: str, hcas: Sequence[Hca]
) -> Iterator[Problem]:
    """Floors below `LEAST_SHARE` of the best published number for such nodes that state no `reason`, each with its path."""
    for index, entry in enumerate(entries):
        known = comparable_with(entry, settings, gpu_model=gpu_model, hcas=hcas)
        best = max(known, key=lambda p: p.value, default=None)
        if best and floors([entry]) and entry.limit < LEAST_SHARE * best.value and not entry.reason:
            message = (
                f"{limit_text(entry.limit)} {entry.unit} is {entry.limit / best.value:.0%} of the best published number for such nodes, "
                f"{limit_text(best.value)} {best.unit} ({best.source}); raise it above {LEAST_SHARE:.0%}, or state why it is so low in `reason`"
            )
            yield Problem(f"gates_baselines[{index}] ({entry.gate} {entry.metric}).value", message)


def _is_of(entry: Published, gpu_model: str, hcas: Sequence[Hca], settings: Mapping[str, GateSettings]) -> bool:
    rates = {h.rate_gbps for h in hcas}
    return (
        (not entry.gpus or gpu_model in entry.gpus)
        and (entry.rate_gbps is None or rates == {entry.rate_gbps})
        and (entry.network_gbps is None or sum(h.rate_gbps for h in hcas) == entry.network_gbps)
        and (not entry.transport or getattr(settings.get(entry.gate), "require_transport", "") == entry.transport)
    )


def _is_same_figure(entry: Published, baseline: Baseline) -> bool:
    """Bandwidth does not fall with the size of the messages, so a number at a smaller size counts, too."""
    return (
        (entry.gate, entry.metric, entry.unit) == (baseline.gate, baseline.metric, baseline.unit)
        and (not baseline.op or entry.op == baseline.op)
        and (entry.size_bytes or 0) <= (baseline.size_bytes or 0)
        and (entry.nodes is None or baseline.holds_for(entry.nodes))
    )
