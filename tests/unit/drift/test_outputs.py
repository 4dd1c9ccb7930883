"""Metrics, JUnit, HTML, document and the nightly files: for programs, so read as programs read them."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

import pytest
from jsonschema import Draft202012Validator
from prometheus_client.parser import text_string_to_metric_families

from clusterctl.core.drift import document, metrics
from clusterctl.model.drift import Deviation, DriftKind, DriftReport, Lost
from clusterctl.model.findings import NodeStatus
from clusterctl.report import drift_page
from clusterctl.terminal import drift as view
from clusterctl.terminal.out import envelope
from clusterctl.workflows.drift import nightly
from clusterctl_validators.finding import Severity
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.unpacked_tools import which

if TYPE_CHECKING:
    from pathlib import Path

NOW = "2026-03-01T02:00:00.000000Z"
HOSTILE = "<script>alert(1)</script>\x1b[31m\x00"
REPORT = DriftReport(
    ("n1", "n2", "n3"),
    (
        Deviation("n1", "kernel.a", "kernel", DriftKind.DRIFT, Severity.CRITICAL, "1", HOSTILE, HOSTILE, "", NOW, NOW),
        Deviation("n1", "kernel.b", "kernel", DriftKind.PENDING, Severity.MAJOR, "2", "1", "", "1", NOW, NOW),
        Deviation("n1", "kernel.c", "kernel", DriftKind.UNKNOWN, Severity.MINOR, "", "no such tool", "", "", NOW, NOW),
    ),
    (Lost("n3", NodeStatus.UNREACHABLE, HOSTILE),),
    views={"read-only": 1, "not enforced (not root)": 1},
    cpu_quotas={"50 % of a core": 1, "not enforced (not requested)": 1},
)


def body() -> dict[str, object]:
    return document.drift_document("run-1", "all", REPORT, [{"node": "n1", "action": "drained", "detail": HOSTILE}])


def test_the_document_has_a_schema() -> None:
    schema = json.loads((ROOT / "docs/reference/schemas/drift.schema.json").read_text())
    Draft202012Validator(schema).validate(json.loads(json.dumps(envelope("drift", body()))))


def test_the_document_says_how_nodes_were_seen() -> None:
    assert body()["views"] == {"read-only": 1, "not enforced (not root)": 1}
    assert body()["cpu_quotas"] == {"50 % of a core": 1, "not enforced (not requested)": 1}


def test_since_cuts_the_findings_and_not_the_summary(capsys: pytest.CaptureFixture[str]) -> None:
    view.show_drift(REPORT, REPORT.deviations[1:2], body(), "json")
    said = json.loads(capsys.readouterr().out)
    assert [f["check"] for f in said["findings"]] == ["kernel.b"]
    assert said["summary"]["drift"] == 1


def test_junit_counts_failures_and_errors() -> None:
    suites = {s.get("name"): s for s in ET.fromstring(view.junit(REPORT))}  # noqa: S314 our own text
    assert {n: (s.get("tests"), s.get("failures"), s.get("errors")) for n, s in suites.items()} == {
        "n1": ("3", "2", "1"),
        "n2": ("1", "0", "0"),
        "n3": ("1", "0", "1"),
    }


def test_the_page_escapes_what_nodes_say() -> None:
    page = drift_page.render_drift_page(body(), NOW)
    assert "<script" not in page
    assert "&lt;script&gt;" in page
    assert "http" not in page.replace("http-equiv", ""), "it loads nothing"


def test_metrics_are_read_by_prometheus() -> None:
    families = {f.name: f for f in text_string_to_metric_families(metrics.textfile(REPORT, "all", ended_at_s=1.5, duration_s=2))}
    samples = {(s.labels["kind"], s.labels["severity"]): s.value for s in families["clusterctl_drift_findings"].samples}
    assert len(samples) == 9, "a zero, not an absence"
    assert samples["drift", "critical"] == 1
    assert samples["drift", "major"] == 0
    assert {s.labels["node"] for s in families["clusterctl_drift_node_findings"].samples} == {"n1"}
    assert families["clusterctl_drift_nodes_lost"].samples[0].value == 1
    assert families["clusterctl_drift_last_run_timestamp_seconds"].samples[0].value == 1.5


def test_a_node_that_is_lost_is_told_with_a_hint(capsys: pytest.CaptureFixture[str]) -> None:
    view.show_drift(REPORT, REPORT.deviations[:1], body(), "table")
    said = capsys.readouterr().out
    assert "n3  unreachable" in said
    assert "hint: " in said
    assert "2 seen before are not shown" in said
    assert "\x1b" not in said


@pytest.fixture
def written(tmp_path: Path) -> dict[str, Path]:
    return {p.name: p for p in nightly.write(tmp_path / "nightly")}


def test_the_rules_name_metrics_that_there_are(written: dict[str, Path]) -> None:
    text = "".join(metrics.textfile(REPORT, "all", ended_at_s=1, duration_s=1, name=name) for name in (metrics.ALL, metrics.BOOTED))
    rules = [r for g in load_yaml(written["clusterctl-drift.rules.yml"].read_text())["groups"] for r in g["rules"]]
    assert len(rules) >= 5
    for rule in rules:
        names = {w for w in rule["expr"].replace("{", " ").replace("(", " ").replace(")", " ").split() if w.startswith("clusterctl_")}
        assert names
        assert all(f"# TYPE {n} " in text for n in names), names


PROMTOOL = which("promtool")


@pytest.mark.skipif(PROMTOOL is None, reason="no promtool here (scripts/test_tools.sh): the rules are not checked by it")
def test_promtool_accepts_the_rules(written: dict[str, Path]) -> None:
    done = subprocess.run(
        [str(PROMTOOL), "check", "rules", str(written["clusterctl-drift.rules.yml"])],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.skipif(not shutil.which("systemd-analyze"), reason="no systemd-analyze here: the units are not verified by it")
@pytest.mark.parametrize("name", ["clusterctl-drift", "clusterctl-booted"])
def test_systemd_accepts_the_units(written: dict[str, Path], name: str) -> None:
    unit = written[f"{name}.service"]
    unit.write_text(unit.read_text().replace("/opt/clusterctl/bin/clusterctl", "/bin/true"))
    argv = ["systemd-analyze", "verify", "--man=no", str(unit), str(written[f"{name}.timer"])]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=60)
    assert not [line for line in done.stderr.splitlines() if name in line], done.stderr


def test_the_timer_is_persistent_and_spread(written: dict[str, Path]) -> None:
    text = written["clusterctl-drift.timer"].read_text()
    assert "Persistent=true" in text
    assert "RandomizedDelaySec=" in text


def test_the_timer_for_boots_starts_a_run_after_the_last_one(written: dict[str, Path]) -> None:
    text = written["clusterctl-booted.timer"].read_text()
    assert "OnUnitInactiveSec=" in text
    assert "OnCalendar" not in text
    assert " --booted --resume " in written["clusterctl-booted.service"].read_text()


@pytest.mark.parametrize("name", ["clusterctl-drift", "clusterctl-booted"])
def test_the_cronjob_is_hardened(written: dict[str, Path], name: str) -> None:
    job = load_yaml(written[f"{name}-cronjob.yml"].read_text())
    assert job["metadata"]["name"] == name
    assert (job["apiVersion"], job["kind"], job["spec"]["concurrencyPolicy"]) == ("batch/v1", "CronJob", "Forbid")
    pod = job["spec"]["jobTemplate"]["spec"]["template"]["spec"]
    assert pod["securityContext"]["runAsNonRoot"]
    assert pod["containers"][0]["securityContext"]["readOnlyRootFilesystem"]
    assert {v["name"] for v in pod["volumes"]} == {m["name"] for m in pod["containers"][0]["volumeMounts"]}
