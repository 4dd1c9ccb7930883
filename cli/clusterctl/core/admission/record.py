"""The admission record: the evidence a node was admitted on, as canonical JSON that anybody can check offline."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from clusterctl.core.digest import canonical_json
from clusterctl.model.records import AdmissionRecord
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.gate_result import Baseline, GateResult
    from clusterctl.model.verdict import NodeVerdict

SCHEMA_VERSION = 1


def build_record(
    verdict: NodeVerdict,
    *,
    run_id: str,
    spec_digest: str,
    operator: str,
    at: str,
    expected_roles: Sequence[str],
    expected_gates: Sequence[str],
    findings: NodeFindings,
    gate_results: Sequence[GateResult],
    baselines: Sequence[Baseline],
    evidence: Mapping[str, str],
    versions: Mapping[str, str],
) -> AdmissionRecord:
    """The record of a node that may be admitted.

    `evidence` maps `<run id>/<file>` to its sha256; the files of the node and of those it was measured with go into the record.

    Raises:
        ValueError: the verdict does not admit, or is about another node.
    """
    if not verdict.admit or verdict.node != findings.node:
        raise ValueError(f"{verdict.node} may not be admitted on this evidence")
    own = [r for r in gate_results if r.node == verdict.node]
    measured = {verdict.node, *(peer for r in own for peer in r.peers)}
    document = canonical_json(
        {
            "schema_version": SCHEMA_VERSION,
            "kind": "admission",
            "node": verdict.node,
            "run_id": run_id,
            "spec_digest": spec_digest,
            "operator": operator,
            "at": at,
            "expected": {"roles": sorted(expected_roles), "gates": sorted(expected_gates)},
            "findings": _findings(findings),
            "gate_results": [_plain(r) for r in own],
            "simulated": any(r.simulated for r in own),
            "baselines": [_plain(b) for b in baselines],
            "notes": [_plain(n) for n in verdict.notes],
            "evidence": {f: sha for f, sha in evidence.items() if PurePosixPath(f).name.split(".json")[0] in measured},
            "versions": dict(versions),
        }
    )
    return AdmissionRecord(verdict.node, run_id, spec_digest, operator, at, document, digest(document))


def digest(document: str) -> str:
    """Sha256 (hex) of a document."""
    return hashlib.sha256(document.encode()).hexdigest()


def is_intact(record: AdmissionRecord) -> bool:
    """Whether the document is the one that was digested, and is about the node and spec the record names."""
    if digest(record.document) != record.digest:
        return False
    data = _document(record)
    return [data.get(key) for key in ("node", "spec_digest", "run_id")] == [record.node, record.spec_digest, record.run_id]


def gates_of(record: AdmissionRecord) -> frozenset[str]:
    """The gates that a record was made on; none where it does not list them."""
    expected = _document(record).get("expected")
    gates = expected.get("gates") if isinstance(expected, dict) else None
    return frozenset(g for g in gates if isinstance(g, str)) if isinstance(gates, list) else frozenset()


def evidence_of(record: AdmissionRecord) -> dict[str, str] | None:
    """The raw files of a record below the folder of runs, each with its sha256; None if the record does not list them so."""
    evidence = _document(record).get("evidence")
    if not isinstance(evidence, dict) or not all(isinstance(word, str) for word in evidence.values()):
        return None
    paths = [PurePosixPath(file) for file in evidence]
    return None if any(p.is_absolute() or ".." in p.parts for p in paths) else evidence


def _document(record: AdmissionRecord) -> dict[str, Any]:
    """The document of a record; empty if it is not a JSON object."""
    try:
        data = json.loads(record.document)
    except (ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def _findings(findings: NodeFindings) -> dict[str, Any]:
    everything = [f.to_json() for f in findings.findings]
    return {
        "count": len(everything),
        "digest": digest(canonical_json(everything)),
        "not_good": [f.to_json() for f in findings.findings if f.outcome not in GOOD],
    }


def _plain(value: Any) -> Any:
    return json.loads(json.dumps(asdict(value)))
