"""Checks admission records offline: the document, its signature, and the raw files it names."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl import admission_record, signing
from clusterctl.errors import SigningError

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from pathlib import Path

    from clusterctl.store import Store
    from clusterctl.store.records import AdmissionRecord


@dataclass(frozen=True, slots=True)
class Verification:
    """What checking the newest admission record of a node came to.

    Attributes:
        record: None where the node was never admitted.
        files: how many raw files were checked.
        signed_by: the signer; empty where it is not signed or no allowed signers are known.
        problems: why it cannot be trusted; empty where it can.
    """

    node: str
    record: AdmissionRecord | None
    files: int
    signed_by: str
    problems: tuple[str, ...]


def verify(store: Store, names: Iterable[str], state_dir: Path, allowed_signers: Path | None) -> tuple[Verification, ...]:
    """Check the newest record of every node. With `allowed_signers`, an unsigned record is a problem."""
    return tuple(_verify(store, name, state_dir / "runs", allowed_signers) for name in names)


def _verify(store: Store, name: str, runs: Path, allowed_signers: Path | None) -> Verification:
    records = store.admissions(name)
    if not records:
        return Verification(name, None, 0, "", ("it has no admission record",))
    record = records[-1]
    if not admission_record.is_intact(record):
        return Verification(name, record, 0, "", ("its document is not what was digested",))
    evidence: dict[str, str] = json.loads(record.document)["evidence"]
    problems = list(_changed(evidence, runs))
    signed_by = ""
    if allowed_signers is not None:
        try:
            signed_by = signing.verify(record.document, record.signature, allowed_signers)
        except SigningError as e:
            problems.insert(0, str(e) if record.signature else "it is not signed")
    return Verification(name, record, len(evidence), signed_by, tuple(problems))


def _changed(evidence: dict[str, str], runs: Path) -> Iterator[str]:
    for file, digest in evidence.items():
        path = runs / file
        if not path.is_file():
            yield f"{file} is gone"
        elif hashlib.sha256(path.read_bytes()).hexdigest() != digest:
            yield f"{file} is not what was recorded"
