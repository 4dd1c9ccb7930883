"""The M_Key of a subnet that shows it is in nothing that a node sends back: the real bundle runs a program that prints it."""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.validators.bundle import build_bundle
from support.bundle_run import run_bundle
from support.plain_yaml import load_yaml
from support.port_info import FOLDER, subnets
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.validators.bundle import Bundle

OPEN = next(s for s in subnets() if s.name == "key_at_level_0")
DIGITS = OPEN.key.removeprefix("0x")
CHECK = "infiniband.ports[mlx5_3].m_key"
# What the program does after it has printed the key: as usual, to stderr as well, then fails, then hangs.
ENDINGS = {
    "shown": ("exit 0", "set, but shown to everybody (protection level 0)"),
    "twice": ("cat {} >&2; exit 3", "smpquery: exit status 3"),
    "hangs": ("exec sleep 60", "timed out after 1.5 s"),
}


@pytest.fixture(scope="module")
def bundle(tmp_path_factory: pytest.TempPathFactory) -> Bundle:
    return build_bundle(tmp_path_factory.mktemp("state"))


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_answer_of_a_node_has_no_key(ending: str, bundle: Bundle, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    last, text = ENDINGS[ending]
    shown = FOLDER / OPEN.name / "smpquery.txt"
    assert DIGITS in shown.read_text()
    program = tmp_path / "smpquery"
    program.write_text(f"#!/bin/sh\ncat {shown}\n{last.format(shown)}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    spec = load_yaml((ROOT / "tests/cases/os_validators/infiniband.yml").read_text())["node"]["spec"]
    answer = run_bundle(bundle, {"infiniband": spec}, check_timeout_s=1.5)
    (found,) = [f for check, f in answer.findings.items() if check in (CHECK, "infiniband.test_management_key")]
    assert (found.found or found.reason) == text
    everything = (json.dumps(answer.data) + answer.stderr).lower()
    assert DIGITS not in everything
    assert str(int(DIGITS, 16)) not in everything
