"""Three-way comparison: the node as it is, the declared state that was last applied, and the state declared today. Pure."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from clusterctl.core.finding_hint import named_hint
from clusterctl.model.drift import Deviation, DriftKind, DriftReport, Lost
from clusterctl.model.findings import NodeStatus
from clusterctl_validators.finding import GOOD, Outcome

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from clusterctl.model.drift import Known
    from clusterctl.model.findings import NodeFindings
    from clusterctl_validators.finding import Finding


def compare_nodes(results: Iterable[NodeFindings], known: Mapping[str, Known], digests: Mapping[str, str]) -> DriftReport:
    """Separate drift from pending changes. `digests`: node -> digest of the state declared today, which the results were compared with."""
    results = tuple(results)
    answered = [r for r in results if r.status is NodeStatus.OK]
    return DriftReport(
        tuple(r.node for r in results),
        tuple(d for r in answered for d in _deviations(r, known[r.node], digests[r.node])),
        tuple(Lost(r.node, r.status, r.detail) for r in results if r.status is not NodeStatus.OK),
        frozenset((r.node, f.check) for r in answered for f in r.findings if f.outcome in GOOD),
        dict(Counter(r.view for r in answered if r.view)),
        dict(Counter(r.cpu_quota for r in answered if r.cpu_quota)),
    )


def kind_of(finding: Finding, known: Known, digest: str) -> DriftKind:
    """What changed, where a check fails.

    The declared state stayed, as a whole or for this check: the node drifted. It changed for this check: the node drifted only if it
    no longer shows what it showed then. A check that was not there then, and a node that was never provisioned, wait for their first provisioning.
    """
    if finding.outcome is Outcome.COULD_NOT_RUN:
        return DriftKind.UNKNOWN
    if not known.spec_digest:
        return DriftKind.PENDING
    if known.spec_digest == digest:
        return DriftKind.DRIFT
    then = known.then.get(finding.check)
    if then is None:
        return DriftKind.PENDING
    stayed = then.held and then.found == finding.found
    return DriftKind.PENDING if stayed and then.expected != finding.expected else DriftKind.DRIFT


def _deviations(result: NodeFindings, known: Known, digest: str) -> Iterator[Deviation]:
    for f in result.findings:
        if f.outcome not in GOOD:
            before = known.then.get(f.check)
            then = before.expected if before and before.expected != f.expected else ""
            found = f.found or f.reason
            hint = named_hint(f, result.node)
            kind = kind_of(f, known, digest)
            yield Deviation(result.node, f.check, f.role, kind, f.severity, f.expected, found, hint, then, above=f.above, owner=f.owner)
