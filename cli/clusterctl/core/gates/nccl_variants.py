"""Further runs of a group by which faults show that the plain run hides. Pure.

In-switch and in-node reduction (NVLS, trees) leave little traffic for the network: two nodes of eight GPUs need about 32 GB/s of each adapter for
the bandwidth that they reach with NVLS, and hide an adapter at half its rate. A ring sends everything over every adapter. Where NCCL fails on one that
perftest passes (NVIDIA/nccl issue 1715), a run over each adapter alone names it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from clusterctl.core.gates.judging.limits import applicable, floors
from clusterctl.core.gates.nccl_rules import UNITS, Collective, NcclSettings
from clusterctl.model.level import LEVELS, Level
from clusterctl.model.running_text import first_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from clusterctl.core.gates.planning.devices import Hca
    from clusterctl.model.gate_result import Baseline, Sample

S = TypeVar("S", bound=NcclSettings)

VariantName = Annotated[str, Field(pattern=r"^[a-z][a-z0-9]*$")]
_REPLACED = ("require_transport", "forbid_transport", "collective", "size_bytes")
_RAIL = "-"
_BANDWIDTHS = ("busbw", "busbw_in_place", "busbw_average")


class NcclVariant(BaseModel):
    """What differs from the plain run.

    Attributes:
        environment: `NCCL_*` variables, added to those of the gate.
        require_transport, forbid_transport: in place of those of the gate; None = the same.
        collective, size_bytes: in place of those of the gate; None = the same.
        each_adapter: a run for each rail, over the adapter of that rail alone. It needs no GPUDirect: only one GPU is near the adapter.
        across_domains: joins the NVLink domains of a rung, which the others measure one by one; left out where there is only one.
        levels: the burn-in levels at which it is measured.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    environment: dict[str, str] = {}
    require_transport: str | None = None
    forbid_transport: list[str] | None = None
    collective: Collective | None = None
    size_bytes: Annotated[int, Field(gt=0)] | None = None
    each_adapter: bool = False
    across_domains: bool = False
    levels: list[Level] = list(LEVELS)

    def applied_to(self, settings: S) -> S:
        """The settings of the variant's run."""
        own = {name: value for name in _REPLACED if (value := getattr(self, name)) is not None}
        return settings.model_copy(update={**own, "environment": {**settings.environment, **self.environment}})


# NCCL's documentation of its environment variables.
RING = NcclVariant(environment={"NCCL_NVLS_ENABLE": "0", "NCCL_ALGO": "Ring"})
# Assumed: NCCL reaches all GPUs of a node over one adapter; the bandwidth of such a run is published nowhere, so no profile has a floor for it.
ADAPTER = NcclVariant(environment=RING.environment, size_bytes=2**30, each_adapter=True, levels=["full"])
# Every GPU with every other: the traffic of experts and of sharded optimizers, which no reduction in switches or nodes makes smaller. No floor of it is
# published for InfiniBand, so it is judged by its results and its transport.
ALL_TO_ALL = NcclVariant(collective="alltoall", levels=["full"])
REDUCE_SCATTER = NcclVariant(collective="reduce_scatter", levels=["full"])
# Each rank to the next one, as stages of a pipeline: what a pair of GPUs has, without any reduction. nccl-tests checks its results out of place only.
SEND_RECV = NcclVariant(collective="sendrecv", levels=["full"])
# Small messages take other protocols and algorithms than large ones.
SMALL = NcclVariant(size_bytes=2**20, levels=["full"])
DEFAULT_VARIANTS = {
    "ring": RING,
    "adapter": ADAPTER,
    "alltoall": ALL_TO_ALL,
    "reducescatter": REDUCE_SCATTER,
    "sendrecv": SEND_RECV,
    "small": SMALL,
}


def variant_runs(variants: Mapping[str, NcclVariant], hcas: Sequence[Hca]) -> dict[str, NcclVariant]:
    """The runs of a node's variants by name; `adapter` with `each_adapter` is `adapter-0`, `adapter-1` ..., and none where the node has one adapter.

    A name in `NCCL_IB_HCA` after `=` is matched as a whole (NCCL's documentation of its environment variables).
    """
    runs: dict[str, NcclVariant] = {}
    for name, variant in variants.items():
        own = hcas if variant.each_adapter and len(hcas) > 1 else ()
        runs |= {} if variant.each_adapter else {name: variant}
        runs |= {f"{name}{_RAIL}{h.rail}": _over(variant, h) for h in own}
    return runs


def _over(variant: NcclVariant, hca: Hca) -> NcclVariant:
    name = f"{hca.device}:{hca.port}" if hca.port != 1 else hca.device
    return variant.model_copy(update={"environment": {**variant.environment, "NCCL_IB_HCA": f"={name}"}})


def declared_name(run: str) -> str:
    """The variant that a run is of."""
    return run.partition(_RAIL)[0]


def hca_of_run(run: str, hcas: Sequence[Hca]) -> str:
    """The adapter that a run is over; empty where it uses all, or the node has none on this rail."""
    rail = run.partition(_RAIL)[2]
    return next((h.name for h in hcas if str(h.rail) == rail), "")


def names_on_rail(run: str, hcas: Mapping[str, Sequence[Hca]]) -> dict[str, list[str]]:
    """For a run over one adapter: its name -> the nodes, of those in `hcas`, that name it so. Several cannot be measured together, as all nodes of a run get the same variables."""
    names: dict[str, list[str]] = {}
    for node, own in hcas.items():
        if name := hca_of_run(run, own):
            names.setdefault(name, []).append(node)
    return names


def left_out_text(run: str, names: Mapping[str, Sequence[str]]) -> str:
    """For people: the rail that a variant left out, and how the nodes name its adapter."""
    variant, _, rail = run.partition(_RAIL)
    count = sum(len(nodes) for nodes in names.values())
    shown = "; ".join(f"{name} on {first_of(nodes)}" for name, nodes in sorted(names.items()))
    return f"the variant {variant} left out rail {rail} of this group of {count} nodes: its adapter is {shown}"


def samples_for(samples: Sequence[Sample], variant: str) -> tuple[Sample, ...]:
    """The bandwidths of a variant are metrics of their own, so that no floor of the plain run applies to them."""
    if not variant:
        return tuple(samples)
    return tuple(replace(s, metric=s.metric.replace("busbw", f"busbw_{variant}")) if s.metric in _BANDWIDTHS else s for s in samples)


def limits_for(limits: Sequence[Baseline], nodes: int, variant: str, variants: Iterable[str]) -> tuple[Baseline, ...] | None:
    """The limits of a run; None where a variant has no floor, and its bandwidth proves nothing."""
    metrics = {name: {m.replace("busbw", f"busbw_{name}") for m in UNITS} for name in {*variants, variant} if name}
    if not variant:
        return tuple(b for b in limits if not any(b.metric in own for own in metrics.values()))
    own = tuple(b for b in limits if b.metric in metrics[variant])
    return own if floors(applicable(own, nodes)) else None
