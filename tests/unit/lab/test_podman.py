from __future__ import annotations

import sys

import pytest

from clusterctl.model.errors import LabError
from clusterctl_lab import podman


def test_the_labs_podman_configuration_selects_runc() -> None:
    assert 'runtime = "runc"' in podman.CONTAINERS_CONF.read_text()


def test_podman_runs_through_sudo_unless_the_user_is_root(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("os.geteuid", lambda: 0)
    assert podman.as_root("podman", "ps") == ["podman", "ps"]
    monkeypatch.setattr("os.geteuid", lambda: 1000)
    assert podman.as_root("podman", "ps") == ["sudo", "-n", "podman", "ps"]


def test_a_missing_program_is_a_lab_error() -> None:
    with pytest.raises(LabError, match="no-such-program: not found"):
        podman.run_command(["no-such-program"])


@pytest.mark.parametrize(
    ("message", "hint"),
    [
        ("sudo: a password is required", "without a password"),
        ("Error: subnet 10.89.12.0/24 is already used on the host", "choose another rack number"),
        ('Error: the container name "r12-n01" is already in use', "another lab uses this rack"),
        ("Error: whatever", "--debug"),
    ],
)
def test_the_last_line_of_podmans_error_comes_with_a_hint(message: str, hint: str) -> None:
    with pytest.raises(LabError) as caught:
        podman.run_command([sys.executable, "-c", f"import sys; print({message!r}, file=sys.stderr); sys.exit(125)"])
    assert message in str(caught.value)
    assert hint in caught.value.hint


def test_a_command_that_hangs_is_killed() -> None:
    with pytest.raises(LabError, match=r"took more than 0\.2 s"):
        podman.run_command([sys.executable, "-c", "import time; time.sleep(60)"], timeout_s=0.2)


def test_without_check_a_failed_command_returns_its_exit_status() -> None:
    assert podman.run_command([sys.executable, "-c", "raise SystemExit(1)"], check=False).returncode == 1
