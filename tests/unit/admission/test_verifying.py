"""Records, signatures and raw files are checked offline; whatever was changed is found."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from sqlalchemy import update

from clusterctl.adapters import signing
from clusterctl.adapters.pools.answering import Answering
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.run_directory import RunDir
from clusterctl.adapters.store import Store
from clusterctl.adapters.store import tables as t
from clusterctl.adapters.store.engine import writing
from clusterctl.core.admission import record as admission_record
from clusterctl.main import call
from clusterctl.model.errors import SigningError
from clusterctl.model.state import State
from clusterctl.workflows.admit import Admitter, Candidate
from clusterctl.workflows.admit_again import admit_now
from clusterctl.workflows.verify_records import verify_admissions
from support.stores import GATE, a_node, a_record, a_result, a_run, bring, findings, fresh

if TYPE_CHECKING:
    from clusterctl.model.records import Verification

pytestmark = pytest.mark.skipif(shutil.which("ssh-keygen") is None, reason="ssh-keygen is not installed")
NAME = "r12-n01"


def _key(folder: Path, name: str, passphrase: str = "") -> Path:
    path = folder / name
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", passphrase, "-C", name, "-f", str(path)], check=True)
    return path


@pytest.fixture
def key(tmp_path: Path) -> Path:
    return _key(tmp_path, "alice")


@pytest.fixture
def allowed(tmp_path: Path, key: Path) -> Path:
    file = tmp_path / "allowed_signers"
    file.write_text(f'alice@site namespaces="{signing.NAMESPACE}" {key.with_suffix(".pub").read_text()}')
    return file


@pytest.fixture
def admitted(tmp_path: Path, key: Path) -> Store:
    store = fresh(tmp_path / "state")
    rundir = RunDir.create(tmp_path / "state", "provision")
    for name in (NAME, "r12-n02", "r12-n03"):
        rundir.write_text(f"gates/rdma_pair/{name}.json", name)
    store.register([a_node()])
    store.start_run(a_run(rundir.id, str(rundir.path)), [NAME])
    bring(store, NAME, State.PROVISIONING, State.PROVISIONED, run_id=rundir.id)
    store.save_findings(rundir.id, findings())
    store.save_gate_results(rundir.id, [a_result()])
    admitter = Admitter(store, Answering(LocalPool(store)), "alice", {}, signing.signer(key))
    candidates = [Candidate(a_node(), (GATE,), ())]
    assert admit_now(admitter, candidates, lambda _nodes: [findings()], tmp_path / "state", target=NAME)[0].verdict.admit
    return store


def _verified(store: Store, tmp_path: Path, allowed: Path | None) -> Verification:
    return verify_admissions(store, [NAME], tmp_path / "state", allowed)[0]


def test_a_signed_record_is_proven(admitted: Store, tmp_path: Path, allowed: Path) -> None:
    result = _verified(admitted, tmp_path, allowed)
    assert (result.problems, result.signed_by) == ((), "alice@site")
    assert result.files == 2, "its own file and that of the node it was measured with"


def test_by_hand_as_the_documentation_says(admitted: Store, allowed: Path) -> None:
    folder = Path(admitted.run("last").directory) / "admission"
    words = ["-I", "alice@site", "-n", signing.NAMESPACE, "-f", str(allowed), "-s", f"{NAME}.json.sig"]
    with (folder / f"{NAME}.json").open("rb") as document:
        done = subprocess.run(
            ["ssh-keygen", "-Y", "verify", *words], cwd=folder, stdin=document, check=True, capture_output=True, text=True
        )
    assert "Good" in done.stdout


def test_a_record_of_before_the_node_was_touched_proves_nothing(admitted: Store, tmp_path: Path, allowed: Path) -> None:
    bring(admitted, NAME, State.DRAINED)
    assert _verified(admitted, tmp_path, allowed).problems == ()
    bring(admitted, NAME, State.QUARANTINED)
    assert _verified(admitted, tmp_path, allowed).problems == (f"it no longer counts: {NAME} was touched since, and is quarantined",)


def test_a_changed_raw_file_is_found(admitted: Store, tmp_path: Path) -> None:
    (measured,) = (r for r in admitted.runs() if r.verb == "provision")
    folder = Path(measured.directory) / "gates/rdma_pair"
    (folder / f"{NAME}.json").write_text("better numbers")
    (folder / "r12-n02.json").unlink()
    problems = _verified(admitted, tmp_path, None).problems
    assert [p.split("/")[-1] for p in problems] == [f"{NAME}.json has changed since it was recorded", "r12-n02.json is missing"]


def test_a_changed_record_is_found_with_or_without_its_digest(admitted: Store, tmp_path: Path, allowed: Path) -> None:
    forged = admitted.admissions(NAME)[0].document.replace("196.4", "396.4")
    with writing(admitted._engine) as connection:
        connection.execute(update(t.admissions).values(document=forged))
    assert _verified(admitted, tmp_path, allowed).problems == ("its document does not match its digest",)
    with writing(admitted._engine) as connection:
        connection.execute(update(t.admissions).values(digest=admission_record.digest(forged)))
    assert "does not match" in _verified(admitted, tmp_path, allowed).problems[0]


NO_RECORDS = [
    "[]",
    "null",
    "[" * 200_000,
    "no json",
    '{"evidence": {}}',
    "EVIDENCE []",
    'EVIDENCE {"a": 1}',
    'EVIDENCE {"../../etc/passwd": "x"}',
]


@pytest.mark.parametrize("document", NO_RECORDS, ids=lambda d: d[:20])
def test_a_document_that_is_no_record_is_a_problem_of_its_node(admitted: Store, tmp_path: Path, document: str) -> None:
    if document.startswith("EVIDENCE "):
        data = json.loads(admitted.admissions(NAME)[-1].document)
        document = json.dumps({**data, "evidence": json.loads(document.removeprefix("EVIDENCE "))})
    with writing(admitted._engine) as connection:
        connection.execute(update(t.admissions).values(document=document, digest=admission_record.digest(document)))
    (problem,) = _verified(admitted, tmp_path, None).problems
    assert problem in ("its document does not match its digest", "its document is not an admission record")


def test_limit_selects_the_records_to_check(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = Store.open(f"sqlite:///{tmp_path}/state/clusterctl.db")
    store.register([a_node(n) for n in (NAME, "r12-n02")])
    store.close()
    call(["--state-dir", "state", "admit", "rack-12", "--verify", "--limit", "r12-n02", "-o", "json"])
    assert [n["name"] for n in json.loads(capsys.readouterr().out)["nodes"]] == ["r12-n02"]


def test_a_stranger_is_not_believed(admitted: Store, tmp_path: Path) -> None:
    nobody = tmp_path / "others"
    nobody.write_text(f"mallory {_key(tmp_path, 'mallory').with_suffix('.pub').read_text()}")
    assert "not signed by any principal" in _verified(admitted, tmp_path, nobody).problems[0]


@pytest.mark.parametrize("signature", ["", "garbage", "-----BEGIN SSH SIGNATURE-----\nAAAA\n-----END SSH SIGNATURE-----\n"])
def test_no_signature_or_a_broken_one(admitted: Store, tmp_path: Path, allowed: Path, signature: str) -> None:
    with writing(admitted._engine) as connection:
        connection.execute(update(t.admissions).values(signature=signature))
    assert _verified(admitted, tmp_path, allowed).problems
    assert not _verified(admitted, tmp_path, None).problems


def test_a_node_without_a_record(tmp_path: Path) -> None:
    store = fresh(tmp_path / "other")
    assert verify_admissions(store, [NAME], tmp_path, None)[0].problems == ("it has no admission record",)


def test_a_key_that_cannot_sign(tmp_path: Path) -> None:
    for key in (tmp_path / "absent", _key(tmp_path, "locked", "a passphrase")):
        with pytest.raises(SigningError) as caught:
            signing.sign("x", key)
        assert "signing_key" in caught.value.hint


def test_a_site_without_a_key_does_not_sign() -> None:
    record = a_record(NAME, "run-1")
    assert signing.signer(None)(record) == record == replace(record, signature="")
