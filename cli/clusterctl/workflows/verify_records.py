"""Checks admission records offline: the document, its signature, and the raw files it names."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

from clusterctl.adapters import signing
from clusterctl.core.admission import record as admission_record
from clusterctl.model.errors import SigningError
from clusterctl.model.records import AdmissionRecord, Verification

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from clusterctl.adapters.store import Store


def verify_admissions(store: Store, names: Iterable[str], state_dir: Path, allowed_signers: Path | None) -> tuple[Verification, ...]:
    """Check the newest record of every node. With `allowed_signers`, an unsigned record is a problem."""
    return tuple(_verify(store, name, state_dir / "runs", allowed_signers) for name in names)


def _verify(store: Store, name: str, runs: Path, allowed_signers: Path | None) -> Verification:
    records = store.admissions(name)
    if not records:
        return Verification(name, None, 0, "", ("it has no admission record",))
    record = records[-1]
    if not admission_record.is_intact(record):
        return Verification(name, record, 0, "", ("its document does not match its digest",))
    evidence = admission_record.evidence_of(record)
    if evidence is None:
        return Verification(name, record, 0, "", ("its document is not an admission record",))
    problems = [*_voided(store, record), *_changed(evidence, runs)]
    signed_by = ""
    if allowed_signers is not None:
        try:
            signed_by = signing.verify_signature(record.document, record.signature, allowed_signers)
        except SigningError as e:
            problems.insert(0, str(e) if record.signature else "it is not signed")
    return Verification(name, record, len(evidence), signed_by, tuple(problems))


def _voided(store: Store, record: AdmissionRecord) -> Iterator[str]:
    """A record of before the node was last touched proves nothing of what it is now."""
    if not store.admission_counts(record):
        node = store.node(record.node)
        yield f"it no longer counts: {record.node} was touched since" + (f", and is {node.state}" if node else "")


def _changed(evidence: dict[str, str], runs: Path) -> Iterator[str]:
    for file, digest in evidence.items():
        path = runs / file
        if not path.is_file():
            yield f"{file} is missing"
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            yield f"{file} has changed since it was recorded"
