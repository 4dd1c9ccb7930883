from __future__ import annotations

import sys

import pytest

from clusterctl.model.errors import LabError
from clusterctl_lab import podman


def test_our_own_configuration_is_used_and_names_runc() -> None:
    assert 'runtime = "runc"' in podman.CONTAINERS_CONF.read_text()


def test_root_runs_podman_itself_others_through_sudo(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert podman.as_root("podman", "ps") == ["podman", "ps"]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert podman.as_root("podman", "ps") == ["sudo", "-n", "podman", "ps"]


def test_a_missing_program_is_told_without_a_traceback() -> None:
    with pytest.raises(LabError, match="no-such-program: not found"):
        podman.run_command(["no-such-program"])


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("sudo: a password is required", "let sudo work"),
        ("Error: subnet 10.89.12.0/24 is already used on the host", "choose another rack number"),
        ('Error: the container name "r12-n01" is already in use', "another lab has this rack"),
        ("Error: whatever", "--debug"),
    ],
)
def test_podmans_last_words_come_with_a_hint(said: str, hint: str) -> None:
    with pytest.raises(LabError) as caught:
        podman.run_command([sys.executable, "-c", f"import sys; print({said!r}, file=sys.stderr); sys.exit(125)"])
    assert said in str(caught.value)
    assert hint in caught.value.hint


def test_a_command_that_hangs_is_ended() -> None:
    with pytest.raises(LabError, match=r"took more than 0\.2 s"):
        podman.run_command([sys.executable, "-c", "import time; time.sleep(60)"], timeout_s=0.2)


def test_failure_is_returned_where_it_is_an_answer() -> None:
    assert podman.run_command([sys.executable, "-c", "raise SystemExit(1)"], check=False).returncode == 1
