from __future__ import annotations

import datetime as dt
import sqlite3
import subprocess
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import rasdaemon
from clusterctl_validators import test_crash_evidence as module
from clusterctl_validators.finding import GOOD
from clusterctl_validators.probe import CommandResult
from support.os_node import Case, cases, findings
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

ROLE = load_role(ROOT / "roles" / "crash_evidence")
NOW = dt.datetime.now().astimezone()


@pytest.mark.parametrize("case", cases("crash_evidence"), ids=lambda c: c.name)
def test_findings_of_a_node(case: Case, tmp_path: Path) -> None:
    found = findings(case, module, tmp_path)
    assert {check: f.outcome.value for check, f in found.items() if f.outcome not in GOOD} == case.outcomes


def test_the_healthy_node_declares_every_argument() -> None:
    assert cases("crash_evidence")[0].declared == set(ROLE.options)


def test_every_finding_has_a_hint(tmp_path: Path) -> None:
    for case in cases("crash_evidence"):
        found = findings(case, module, tmp_path / case.name)
        assert [c for c, f in found.items() if f.outcome.value == "fail" and not f.hint and ".package[" not in c] == []


@pytest.mark.parametrize(("disabled", "words"), [("1", "kernel.kexec_load_disabled is 1"), ("0", "systemctl restart kdump")])
def test_the_next_action_where_no_crash_kernel_is_loaded(disabled: str, words: str, tmp_path: Path) -> None:
    files = {"/sys/kernel/kexec_crash_loaded": "0", "/proc/sys/kernel/kexec_load_disabled": disabled}
    found = findings(Case("crash_evidence", "hardened", {"files": files}, {}), module, tmp_path)
    assert words in found["crash_evidence.kdump.loaded"].hint


def test_defaults_declare_nothing(tmp_path: Path) -> None:
    found = findings(Case("crash_evidence", "defaults", {"spec": ROLE.defaults}, {}), module, tmp_path)
    assert {f.outcome.value for f in found.values()} == {"not_applicable"}


@pytest.mark.parametrize(
    ("days_ago", "kind", "outcome"),
    [
        (1, "Uncorrected", "fail"),
        (1, "Fatal", "fail"),
        (1, "Deferred", "fail"),
        (1, "Info", "pass"),
        (1, "Corrected", "pass"),
        (40, "Uncorrected", "pass"),
        (None, "", "could_not_run"),
    ],
)
def test_uncorrected_errors_count_for_the_declared_days(days_ago: int | None, kind: str, outcome: str, tmp_path: Path) -> None:
    """The query runs on a database in the layout of rasdaemon; without a database nothing is known."""
    file = tmp_path / "ras-mc_event.db"
    if days_ago is not None:
        with sqlite3.connect(file) as database:
            database.execute(rasdaemon.TABLE)
            time = f"{NOW - dt.timedelta(days=days_ago):%Y-%m-%d %H:%M:%S} +0000"
            row = (time, 2, kind, "memory read error", "CPU_SrcID#0_MC#0_Chan#0_DIMM#0")
            database.execute("insert into mc_event (timestamp, err_count, err_type, err_msg, label) values (?, ?, ?, ?, ?)", row)
    argv = ["python3", "-I", "-c", module._QUERY, module.DATABASE, f"{NOW - dt.timedelta(days=30):%Y-%m-%d}"]
    done = subprocess.run([*argv[:4], str(file), argv[5]], capture_output=True, text=True, check=False)
    answer = CommandResult(rc=done.returncode, stdout=done.stdout, stderr=done.stderr)
    change = {"spec": {"crash_evidence_uncorrected_days": 30}, "commands": {" ".join(argv): vars(answer)}}
    found = findings(Case("crash_evidence", "records", change, {}), module, tmp_path / "node")["crash_evidence.rasdaemon.uncorrected"]
    assert (found.outcome.value, "DIMM#0: 2" in found.found) == (outcome, outcome == "fail")
