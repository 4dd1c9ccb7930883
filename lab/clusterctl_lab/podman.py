"""Runs podman with the lab's own configuration, through sudo if the user is not root."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from clusterctl.model.errors import LabError

CONTAINERS_CONF = Path(__file__).with_name("containers.conf")


def as_root(*argv: str) -> list[str]:
    """The argument list that runs a command as root; sudo must not prompt for a password."""
    return list(argv) if os.geteuid() == 0 else ["sudo", "-n", *argv]


def podman(*arguments: str, check: bool = True, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    """Run podman.

    Raises:
        LabError: podman is not installed, timed out, or failed while `check` is set.
    """
    argv = as_root("env", f"CONTAINERS_CONF={CONTAINERS_CONF}", "podman", *arguments)
    return run_command(argv, check=check, timeout_s=timeout_s)


def run_command(argv: list[str], *, check: bool = True, timeout_s: float = 120) -> subprocess.CompletedProcess[str]:
    """Run a command on the host. Raises the same errors as `podman`."""
    try:
        done = subprocess.run(
            argv, capture_output=True, text=True, check=False, timeout=timeout_s, stdin=subprocess.DEVNULL, errors="replace"
        )
    except FileNotFoundError as e:
        raise LabError(detail=f"{argv[0]}: not found", hint="install it, or run `make setup`") from e
    except subprocess.TimeoutExpired as e:
        raise LabError(detail=f"{_brief(argv)} took more than {timeout_s:g} s", hint="check the load of this machine") from e
    if check and done.returncode:
        lines = (done.stderr or done.stdout).strip().splitlines()
        raise LabError(detail=f"{_brief(argv)} failed: {lines[-1] if lines else f'exit {done.returncode}'}", hint=_hint(done.stderr))
    return done


def _brief(argv: list[str]) -> str:
    """The program and its subcommand; the whole command line would bury the message."""
    words = [w for w in argv if w not in ("sudo", "-n", "env") and not w.startswith("CONTAINERS_CONF=")]
    return f"`{' '.join(words[:2])}`"


def _hint(stderr: str) -> str:
    if "a password is required" in stderr:
        return "run as root, or allow podman and mmdebstrap in sudoers without a password"
    if "subnet" in stderr and "already" in stderr:
        return "another network uses these addresses: `podman network ls`; choose another rack number"
    if "is already in use" in stderr:
        return "another lab uses this rack (`podman ps`): choose another rack number, or take that lab down with its --state-dir"
    return "run with --debug for details"
