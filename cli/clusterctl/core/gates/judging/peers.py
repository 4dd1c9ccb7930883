"""A measurement against those of its peers: equal devices in the same run. Pure."""

from __future__ import annotations

from dataclasses import dataclass, replace
from statistics import median
from typing import TYPE_CHECKING, TypeVar

from clusterctl.core.gates.judging.direction import HIGHER_IS_BETTER
from clusterctl.core.gates.judging.limits import limit_text
from clusterctl.core.gates.planning.devices import gpu_model_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

    from clusterctl.core.gates.judging.direction import Direction
    from clusterctl.core.gates.judging.evidence import Evidence
    from clusterctl.model.gate_result import Figure

K = TypeVar("K")

# Fewer are not a distribution; the floor alone decides.
LEAST_PEERS = 10
# 0.6745 makes the MAD of a normal distribution its standard deviation: the modified z-score (Iglewicz and Hoaglin, 1993, which proposes 3.5 as its limit).
TO_SIGMA = 0.6745
# The spread of a class is not taken for less: NCCL and perftest repeat to 0.3 to 0.5 % on one healthy node.
LEAST_SPREAD = 0.005
# Both must be exceeded: z, and the share of the median. -3.5 % and -7 % are those of Azure's node validation (ai-infrastructure-on-azure, node_gpu_validation).
FAIL, WARN = (-6.0, 0.07), (-3.5, 0.035)


@dataclass(frozen=True, slots=True)
class Standing:
    """How a measurement stands among its peers.

    Attributes:
        peers: how many there are, itself included; z: the modified z-score, 0 below `least` of them.
        below: share of the median by which it is lower; negative above it.
        direction: on which side of the median it is worse.
    """

    peers: int
    median: float = 0.0
    z: float = 0.0
    below: float = 0.0
    least: int = LEAST_PEERS
    direction: Direction = HIGHER_IS_BETTER

    @property
    def outcome(self) -> Outcome:
        """Fail or warn where it is too bad for its class, else pass."""
        return self.outcome_at(FAIL, WARN)

    def outcome_at(self, fail: tuple[float, float], warn: tuple[float, float]) -> Outcome:
        """The same with other limits: z and the share of the median."""
        for outcome, (z, below) in ((Outcome.FAIL, fail), (Outcome.WARN, warn)):
            if self.peers >= self.least and self.direction.rank(self.z) < z and self.direction.rank(self.below) > below:
                return outcome
        return Outcome.PASS

    def text(self, unit: str, decimals: int = 1) -> str:
        """For people."""
        if self.peers < self.least:
            return f"judged by its {self.direction.limit} only: {self.peers} of its class were measured, a comparison takes {self.least}"
        share, middle = 100 * self.direction.rank(self.below), limit_text(self.median, decimals)
        return f"{share:.1f} % {self.direction.beside} the median of its {self.peers} peers, {middle} {unit} (z {self.z:.1f})"


def spread_of(values: Sequence[float], middle: float) -> float:
    """The median absolute deviation, 0.5 % of the median at least."""
    return max(median(abs(v - middle) for v in values), LEAST_SPREAD * middle)


def standings(
    values: Mapping[K, float], classes: Mapping[K, Hashable], least: int = LEAST_PEERS, direction: Direction = HIGHER_IS_BETTER
) -> dict[K, Standing]:
    """Each measurement among those of equal class; `least` of them are a comparison."""
    members: dict[Hashable, list[float]] = {}
    for key, value in values.items():
        members.setdefault(classes[key], []).append(value)
    known = {name: (median(own), own) for name, own in members.items()}
    spreads = {name: spread_of(own, middle) for name, (middle, own) in known.items()}
    found = {}
    for key, value in values.items():
        name = classes[key]
        middle, own = known[name]
        if len(own) < least or middle <= 0:
            found[key] = Standing(len(own), least=least, direction=direction)
        else:
            z, below = TO_SIGMA * (value - middle) / spreads[name], (middle - value) / middle
            found[key] = Standing(len(own), middle, z, below, least, direction)
    return found


def by_peers(results: Sequence[GateResult], evidence: Evidence) -> Iterator[GateResult]:
    """The results of a node gate: what reaches its floor and is too low among equal nodes fails or warns, and a pass notes where there were too few.

    Equal are nodes with the same GPU model and version of the tool. Of a node its lowest value counts.
    """
    versions: dict[str, str] = {}
    for record in evidence.records:
        versions.setdefault(record.node, record.tool_version)
    measured = [r for r in results if _is_figure(r, evidence)]
    values: dict[tuple[str, Figure], float] = {}
    classes: dict[tuple[str, Figure], Hashable] = {}
    for result in measured:
        key = (result.node, result.figure)
        values[key] = min(values.get(key, result.value or 0.0), result.value or 0.0)
        classes[key] = (result.figure, gpu_model_of(evidence.subjects[result.node].node), versions.get(result.node, ""))
    found = standings(values, classes)
    for result in results:
        if _is_figure(result, evidence) and result.rule == "floor" and result.outcome is not Outcome.WARN:
            yield _compared(result, found[result.node, result.figure])
        else:
            yield result


def _is_figure(result: GateResult, evidence: Evidence) -> bool:
    """Whether a value belongs to its class: also one that is judged already, or the others would lose their peers by it."""
    return (
        result.node in evidence.subjects
        and result.rule in ("floor", "peers")
        and result.value is not None
        and result.outcome in (Outcome.PASS, Outcome.WARN, Outcome.FAIL)
    )


def _compared(result: GateResult, standing: Standing) -> GateResult:
    if result.outcome is not Outcome.PASS:
        return result
    text = "; ".join(filter(None, (result.detail, standing.text(result.unit))))
    if standing.outcome is Outcome.PASS:
        return replace(result, detail=text) if standing.peers < LEAST_PEERS else result
    hint = f"compare driver, firmware, clocks, power and temperature of {result.node} with a peer; then `clusterctl burnin {result.node} --gates {result.gate}`"
    return replace(result, outcome=standing.outcome, rule="peers", reason=GateReason.BELOW_PEERS, detail=text, hint=hint)


def versions_of(evidence: Evidence) -> dict[tuple[str, str], str]:
    """(node, device) -> version of the tool that measured it."""
    return {(r.node, r.device): r.tool_version for r in evidence.records}


def classes_of(ends: Iterable[tuple[str, str]], evidence: Evidence) -> dict[tuple[str, str], Hashable]:
    """The class of each device of pairs: equal GPU model, line rate and version of the tool."""
    versions = versions_of(evidence)
    rates = {(s.name, h.name): h.rate_gbps for s in evidence.subjects.values() for h in s.hcas}
    models = {s.name: gpu_model_of(s.node) for s in evidence.subjects.values()}
    return {end: (models[end[0]], rates[end], versions.get(end, "")) for end in ends}
