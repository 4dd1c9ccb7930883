"""`inspect`, which takes long to import, is there for whoever uses it in a program of a node, and imported by nobody else."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.roles import ROOT

LAB = ROOT / "lab" / "clusterctl_lab"


def started(code: str) -> subprocess.CompletedProcess[str]:
    """What a program of a node prints, with the modules that it imported on stderr."""
    argv = [sys.executable, "-IS", "-X", "importtime", "-c", f"import sys; sys.path.insert(0, {str(LAB)!r}); import simulator\n{code}"]
    return subprocess.run(argv, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("module", ["nvidia_smi", "perftest", "module_tools", "flint", "gpu_burn", "dcgmi", "perfquery", "nccl_tests"])
def test_no_program_imports_it(module: str) -> None:
    done = started(f"import simulator.{module}")
    assert done.returncode == 0, done.stderr
    imported = [line.rpartition("|")[2].strip() for line in done.stderr.splitlines() if "import time:" in line]
    assert "dataclasses" in imported
    assert "inspect" not in imported


@pytest.mark.parametrize("use", ["import inspect; print(inspect.isclass(int))", "from inspect import isclass; print(isclass(int))"])
def test_it_is_there_for_whoever_uses_it(use: str) -> None:
    text = "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\nprint(A.__doc__)\n"
    done = started(f"{use}\n{text}{use}")
    assert (done.returncode, done.stdout) == (0, "True\nA(x: int)\nTrue\n"), done.stderr
