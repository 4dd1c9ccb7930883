"""Runs a validator bundle as a node does: in a process with the request on stdin and the answer on stdout."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.validators.bundle import build_bundle
from clusterctl_validators.finding import Finding
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.validators.bundle import Bundle

EXAMPLES = ROOT / "tests" / "cases" / "validators"


@dataclass(frozen=True)
class BundleResult:
    """The result of the process."""

    rc: int
    data: dict[str, Any]
    stderr: str

    @property
    def findings(self) -> dict[str, Finding]:
        return {f["check"]: Finding.from_json(f) for f in self.data["findings"]}


def example_bundle(state_dir: Path) -> Bundle:
    """A bundle with the example validators of tests/cases/validators."""
    return build_bundle(state_dir, [EXAMPLES])


def run_bundle(
    bundle: Bundle, roles: dict[str, Any], python: str = sys.executable, cwd: Path | None = None, **options: Any
) -> BundleResult:
    """Run a bundle on this machine, started in `cwd`, without storing it."""
    request = {"schema_version": 1, "node": "n1", "nonce": "abc", "roles": roles, "options": options}
    argv = [python, "-I", "-S", "-B", str(bundle.path), bundle.sha256]
    env = {"PATH": os.environ["PATH"]}
    done = subprocess.run(argv, input=json.dumps(request), capture_output=True, text=True, timeout=60, env=env, cwd=cwd, check=False)
    return BundleResult(done.returncode, json.loads(done.stdout) if done.returncode == 0 else {}, done.stderr)
