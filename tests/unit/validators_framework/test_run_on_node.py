from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import run_on_node
from clusterctl_validators.finding import Outcome
from support.bundle_run import run_bundle

if TYPE_CHECKING:
    from clusterctl.adapters.validators.bundle import Bundle

GOOD = {"example_value": 64}


def outcomes(bundle: Bundle, behaviour: str, **options: Any) -> dict[str, tuple[Outcome, str]]:
    answer = run_bundle(bundle, {"example": {**GOOD, "example_behaviour": behaviour}}, **options)
    assert answer.rc == 0, answer.stderr
    return {check: (f.outcome, f.reason) for check, f in answer.findings.items()}


def test_answer(bundle: Bundle) -> None:
    answer = run_bundle(bundle, {"example": GOOD}, read_keys=True)
    assert {k: answer.data[k] for k in ("schema_version", "node", "nonce", "bundle")} == {
        "schema_version": 1,
        "node": "n1",
        "nonce": "abc",
        "bundle": bundle.sha256,
    }
    assert {c: f.outcome.value for c, f in answer.findings.items()} == {
        "example.value.running": "pass",
        "example.value.persisted": "fail",
        "example.behaviour": "pass",
        "example.mounts": "pass",
        "example.items[a]": "pass",
        "example.items[b]": "pass",
        "example.parts[none]": "pass",
        "example.fixture": "pass",
        "example.host": "pass",
    }
    assert answer.findings["example.value.running"].found == "64"
    assert 0 <= answer.data["uptime_s"] <= float(Path("/proc/uptime").read_text().split()[0])
    assert answer.data["read_keys"] == {"example": ["example_behaviour", "example_parts", "example_value"]}


def test_a_check_of_each_declared_item_has_a_time_limit_of_its_own(bundle: Bundle) -> None:
    answer = run_bundle(bundle, {"example": {**GOOD, "example_parts": ["a", "slow", "b"]}}, check_timeout_s=0.4)
    parts = {c: f.outcome for c, f in answer.findings.items() if "parts" in c}
    assert parts == {"example.parts[a]": Outcome.PASS, "example.test_parts[slow]": Outcome.COULD_NOT_RUN, "example.parts[b]": Outcome.PASS}
    assert answer.findings["example.test_parts[slow]"].reason == "timed out after 0.4 s"


def test_a_module_whose_tools_take_their_time_has_a_longer_limit(bundle: Bundle) -> None:
    answer = run_bundle(bundle, {"patient": {}, "example": GOOD}, check_timeout_s=0.8)
    assert answer.findings["patient.tool"].outcome is Outcome.PASS
    assert answer.findings["patient.test_hung_tool"].reason == "timed out after 2 s"
    assert answer.findings["example.host"].outcome is Outcome.PASS


@pytest.mark.parametrize(
    ("behaviour", "check", "reason"),
    [
        ("raise", "example.test_behaviour", "RuntimeError: the tool failed"),
        ("skip", "example.test_behaviour", "Skipped: no such tool"),
        ("fixture", "example.test_fixture", "OSError: the fixture broke"),
        ("sleep", "example.test_behaviour", "timed out after 0.4 s"),
        ("cannot be interrupted", "example.test_behaviour", "hangs and cannot be interrupted; its process was abandoned"),
        ("die", "example.test_behaviour", "the checking process died"),
    ],
)
def test_a_broken_check_affects_no_other_check(bundle: Bundle, behaviour: str, check: str, reason: str) -> None:
    began = time.monotonic()
    found = outcomes(bundle, behaviour, check_timeout_s=0.4, grace_s=0.2)
    assert time.monotonic() - began < 20
    assert found[check] == (Outcome.COULD_NOT_RUN, reason)
    assert found["example.value.running"][0] is Outcome.PASS
    assert found["example.items[b]"][0] is Outcome.PASS
    assert found["example.host"][0] is Outcome.PASS


def test_output_of_a_check_is_not_part_of_the_answer(bundle: Bundle) -> None:
    assert outcomes(bundle, "print")["example.behaviour"] == (Outcome.PASS, "")


def test_the_time_limit_of_the_node(bundle: Bundle) -> None:
    found = outcomes(bundle, "sleep", check_timeout_s=5, total_timeout_s=1)
    assert found["example.test_behaviour"] == (Outcome.COULD_NOT_RUN, "the time limit of this node was reached")
    assert found["example.test_host"] == (Outcome.COULD_NOT_RUN, "the time limit of this node was reached")


@pytest.mark.parametrize(
    ("role", "reason"),
    [
        ("silent", "the validator recorded nothing"),
        ("broken", "RuntimeError: this module is broken"),
        ("no_such_role", "no validator for this role"),
    ],
)
def test_a_role_without_findings_could_not_be_verified(bundle: Bundle, role: str, reason: str) -> None:
    found = run_bundle(bundle, {role: {}, "example": GOOD}).findings
    assert (found[f"{role}.validator"].outcome, found[f"{role}.validator"].reason) == (Outcome.COULD_NOT_RUN, reason)
    assert found["example.behaviour"].outcome is Outcome.PASS


def test_missing_variable_is_named(bundle: Bundle) -> None:
    found = run_bundle(bundle, {"example": {}}).findings
    assert found["example.test_value"].reason == "KeyError: 'the spec of example has no example_value'"


def test_only_modules_of_the_spec_are_imported(bundle: Bundle) -> None:
    answer = run_bundle(bundle, {"example": GOOD})
    assert {f.role for f in answer.findings.values()} == {"example"}, "test_broken.py is in the bundle too; importing it leaves a finding"


@pytest.mark.parametrize("request_text", ["", "not json", "[]", "{}", '{"schema_version": 2, "roles": {}}', '{"schema_version": 1}'])
def test_a_bad_request_is_refused(bundle: Bundle, request_text: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", str(bundle.path)], input=request_text, capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 95
    assert done.stdout == ""
    assert done.stderr.startswith("clusterctl: ")


def test_nothing_is_written(bundle: Bundle, tmp_path: Path) -> None:
    copy = tmp_path / "bundle.pyz"
    copy.write_bytes(bundle.read())
    request = json.dumps({"schema_version": 1, "roles": {"example": GOOD}})
    subprocess.run([sys.executable, "-I", "-S", str(copy)], input=request, text=True, capture_output=True, check=True, cwd=tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["bundle.pyz"]


def test_a_conftest_of_the_working_directory_is_not_read(bundle: Bundle, tmp_path: Path) -> None:
    for folder in (tmp_path, tmp_path / "tests"):
        folder.mkdir(exist_ok=True)
        (folder / "conftest.py").write_text("raise RuntimeError('not ours')")
    answer = run_bundle(bundle, {"example": GOOD}, cwd=tmp_path)
    assert answer.findings["example.host"].outcome is Outcome.PASS, answer.stderr


@pytest.fixture
def view(bundle: Bundle) -> str:
    """The view of the checks on this machine; skips if it is not read-only."""
    state = str(run_bundle(bundle, {"example": GOOD}).data["view"])
    if state != "read-only":
        pytest.skip(f"the view is {state} here")
    return state


@pytest.mark.usefixtures("view")
@pytest.mark.parametrize(
    ("behaviour", "check", "outcome", "message"),
    [
        ("write a file", "example.test_behaviour", Outcome.COULD_NOT_RUN, "OSError: [Errno 30] Read-only file system"),
        ("write a sysctl", "example.test_behaviour", Outcome.COULD_NOT_RUN, "OSError: [Errno 30] Read-only file system"),
        ("let a command write", "example.touch", Outcome.FAIL, "Read-only file system"),
    ],
)
def test_a_check_cannot_write(bundle: Bundle, tmp_path: Path, behaviour: str, check: str, outcome: Outcome, message: str) -> None:
    file = tmp_path / "written"
    spec = {**GOOD, "example_behaviour": behaviour, "example_path": str(file)}
    answer = run_bundle(bundle, {"example": spec})
    found = answer.findings[check]
    assert (found.outcome, message in found.reason + found.found) == (outcome, True), found
    assert not file.exists()
    assert answer.findings["example.host"].outcome is Outcome.PASS, "other checks are not affected"


@pytest.mark.parametrize("version", ["3.8", "3.9", "3.10", "3.12", "3.13"])
def test_other_pythons(bundle: Bundle, version: str) -> None:
    found = sorted(Path.home().glob(f".pyenv/versions/{version}.*/bin/python3")) or sorted(Path("/usr/bin").glob(f"python{version}"))
    if not found:
        pytest.skip(f"no Python {version} on this machine")
    answer = run_bundle(bundle, {"example": GOOD}, python=str(found[0]))
    assert answer.data["python"].startswith(version), answer.stderr
    checks = dict(answer.findings)
    if version == "3.8":  # testinfra needs 3.9: checks that use `host` could not run, the others did
        assert checks.pop("example.test_host").outcome is Outcome.COULD_NOT_RUN
    assert {f.outcome for c, f in checks.items() if c != "example.value.persisted"} == {Outcome.PASS}


@pytest.mark.parametrize(
    ("mounts", "in_container", "kind"),
    [
        ("rootfs / rootfs rw 0 0", False, "rootfs"),
        ("wwroot / tmpfs rw 0 0", True, ""),
        ("/dev/sda2 / ext4 rw 0 0", False, ""),
        (None, False, ""),
    ],
)
def test_a_root_in_memory_is_reported_but_not_that_of_a_container(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, mounts: str | None, in_container: bool, kind: str
) -> None:
    if mounts is not None:
        (tmp_path / "mounts").write_text(mounts + "\n")
    if in_container:
        (tmp_path / "container").write_text("podman\n")
    monkeypatch.setattr(run_on_node, "_MOUNTS", str(tmp_path / "mounts"))
    monkeypatch.setattr(run_on_node, "_IN_CONTAINER", str(tmp_path / "container"))
    assert run_on_node._volatile_root() == kind
