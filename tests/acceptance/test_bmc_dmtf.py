"""DMTF's own programs judge the Redfish service of the lab's BMCs."""

from __future__ import annotations

import csv
import os
import re
import subprocess
from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from support.bmc_service import PASSWORD, USER, new_box, served
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PROGRAMS = ROOT / "build" / "dmtf" / "bin"
# The folder `csdl` of DSP8010, which dmtf.org publishes and no package registry carries.
SCHEMAS = os.environ.get("REDFISH_SCHEMAS", "")
_TABLE = re.compile(r"^\|" + r"\s+(\d+)\s+\|" * 4 + "$", re.MULTILINE)
# The lab's BMC has one fixed account and no AccountService, so it has no roles either.
_WITHOUT_ACCOUNTS = {"SEC_PRIV_SUPPORT_PREDEFINED_ROLES"}
# Thermal and Power, which DMTF has deprecated, are what the BMCs of HGX machines serve and what clusterctl reads.
_DEPRECATED = 4


@dataclass(frozen=True)
class Counts:
    """What a program reports."""

    passed: int
    warned: int
    failed: int


@dataclass(frozen=True)
class Judge:
    """Runs a program on a service until it ends."""

    url: str
    ca: Path
    folder: Path
    report: Callable[[str], None]

    def __call__(self, program: str, *words: str) -> str:
        argv = [str(PROGRAMS / program), "-r", self.url, "-u", USER, "-p", PASSWORD, *words]
        environment = {**os.environ, "REQUESTS_CA_BUNDLE": str(self.ca), "NO_PROXY": "127.0.0.1"}
        done = subprocess.run(argv, cwd=self.folder, env=environment, capture_output=True, text=True, check=False, timeout=900)
        assert "Traceback" not in done.stderr, done.stderr
        return done.stdout + done.stderr

    def counts(self, program: str, *words: str) -> Counts:
        output = self(program, *words)
        found = _TABLE.search(output)
        assert found, output
        counts = Counts(*(int(n) for n in found.groups()[:3]))
        self.report(f"{program}: {counts}")
        return counts


@pytest.fixture
def judge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, report: Callable[[str], None]) -> Iterator[Judge]:
    new_box(monkeypatch)
    with served(tmp_path) as (url, ca):
        yield Judge(url, ca, tmp_path, report)


@pytest.mark.skipif(not SCHEMAS, reason="REDFISH_SCHEMAS names no folder with the CSDL files of DSP8010")
def test_every_resource_is_as_its_schema_says(judge: Judge) -> None:
    words = ("--schema_directory", SCHEMAS, "--skipschema", "--authtype", "Session", "--logdir", str(judge.folder / "schema"))
    counts = judge.counts("rf_service_validator", *words)
    (log,) = judge.folder.glob("schema/*/*Debug*.log")
    failures = [line for line in log.read_text().splitlines() if "FAIL - " in line]
    assert (counts.failed, counts.warned) == (0, _DEPRECATED), failures
    assert counts.passed > 400


def test_the_protocol_is_as_the_specification_says(judge: Judge) -> None:
    words = ("--ca-bundle", str(judge.ca), "--report-type", "tsv", "--report-dir", "protocol", "--avoid-http-redirect")
    judge("rf_protocol_validator", *words)
    (file,) = judge.folder.glob("protocol/*.tsv")
    with file.open(newline="") as table:
        rows = [row for row in csv.DictReader(table, delimiter="\t") if row["Assertion"]]
    judge.report(f"rf_protocol_validator: {dict(Counter(row['Result'] for row in rows))}")
    failed = [row for row in rows if row["Result"] in ("FAIL", "WARN")]
    assert {row["Assertion"] for row in failed} == _WITHOUT_ACCOUNTS, failed
    assert sum(row["Result"] == "PASS" for row in rows) > 150


def test_use_cases_of_clients_work(judge: Judge) -> None:
    counts = judge.counts("rf_use_case_checkers", "--report-dir", "cases")
    assert (counts.failed, counts.warned) == (0, 0)
    assert counts.passed > 10
