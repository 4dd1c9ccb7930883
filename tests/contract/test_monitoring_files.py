"""contrib/grafana and contrib/prometheus: they ask for metrics that exist, Prometheus accepts them, and alerts fire when they should."""

from __future__ import annotations

import re
import subprocess
from typing import TYPE_CHECKING, Any

import pytest
import yaml

from clusterctl.core.drift import metrics
from clusterctl.core.fleet_metrics import fleet_textfile
from clusterctl.model.drift import Deviation, DriftKind, DriftReport, Lost
from clusterctl.model.findings import NodeStatus
from clusterctl.model.fleet_figures import FleetFigures, MeasuredOutcome
from clusterctl.model.gate_result import Outcome
from clusterctl.model.overview import Overview
from clusterctl.model.records import NodeRecord, Unanswered
from clusterctl.model.state import State
from clusterctl.model.trouble import LemonAction, TroubleRecord
from clusterctl.model.trouble_counts import TroubleCounts
from clusterctl_validators.finding import Severity
from support.monitoring_files import RULES_FILE, Query, dashboards, queries, rules
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.unpacked_tools import which

if TYPE_CHECKING:
    from pathlib import Path

CASES = ROOT / "tests" / "cases" / "prometheus_rules"
NODE = NodeRecord("n1", "r1", 1, (), State.ADMITTED, "", "", "", "2026-03-14T09:00:00.000000Z", "")
LEMON = TroubleRecord("165", "gpu", "n1", "GPU 3", "H100", TroubleCounts(), TroubleCounts(), 1.5, LemonAction.RMA, "")
FIGURES = FleetFigures(
    Overview([NODE], {}, {"n1": Unanswered("n1", "r", "unreachable", "", "")}), [MeasuredOutcome("n1", "g", Outcome.FAIL)], [LEMON], False
)
DRIFT = DriftReport(
    ("n1",),
    (Deviation("n1", "kernel.a", "kernel", DriftKind.DRIFT, Severity.CRITICAL, "1", "2", "", "", "", ""),),
    (Lost("n2", NodeStatus.UNREACHABLE, ""),),
)
PROMTOOL = which("promtool")
no_promtool = pytest.mark.skipif(PROMTOOL is None, reason="no promtool here (scripts/test_tools.sh)")


def exported() -> dict[str, frozenset[str]]:
    """Each metric of ours with its labels, as the exporters write it."""
    text = fleet_textfile(FIGURES, "all", made_at_s=1) + metrics.textfile(DRIFT, "all", ended_at_s=1, duration_s=1)
    samples = re.findall(r"^(\w+)\{([^}]*)\} ", text, re.MULTILINE)
    assert set(re.findall(r"^# TYPE (\w+) ", text, re.MULTILINE)) == {name for name, _ in samples}, "each has a sample"
    return {name: frozenset(re.findall(r'(\w+)="', labels)) for name, labels in samples}


def used() -> list[tuple[Query, str, frozenset[str]]]:
    return [(q, name, labels) for q in queries() for name, labels in q.metrics]


def test_the_reader_of_expressions_finds_metrics_and_labels() -> None:
    query = Query("x", 'sum by (node_name) (a * clusterctl_x{node="clusterctl_no", kind!="y"}) / on (target) DCGM_FI_DEV_Z')
    assert dict(query.metrics) == {"clusterctl_x": {"node", "kind"}, "DCGM_FI_DEV_Z": frozenset()}


def test_our_metrics_and_their_labels_exist() -> None:
    ours = exported()
    own = [(q.where, name, labels) for q, name, labels in used() if name.startswith("clusterctl_")]
    assert [(where, name) for where, name, _ in own if name not in ours] == []
    assert [(where, name, labels - ours[name]) for where, name, labels in own if not labels <= ours[name]] == []


def test_every_metric_of_ours_is_used() -> None:
    extra = (ROOT / "cli/clusterctl/workflows/drift/nightly_files/clusterctl-drift.rules.yml").read_text()
    shown = {n for _, n, _ in used()} | set(re.findall(r"clusterctl_\w+", extra))
    assert set(exported()) - shown == {"clusterctl_drift_run_duration_seconds", "clusterctl_drift_node_lost"}


def test_the_role_monitoring_has_the_exporters_export_the_others() -> None:
    counters = load_yaml((ROOT / "inventory/common/group_vars/gpu_nodes/monitoring.yml").read_text())["monitoring_dcgm_counters"]
    known = {c["field"] for c in counters} | set(load_yaml((CASES / "exporter_metrics.yml").read_text()))
    assert {n for _, n, _ in used() if not n.startswith("clusterctl_")} - known == set()


def test_labels_in_the_words_of_an_alert_are_those_of_its_metric() -> None:
    ours, others = exported(), {"DCGM": {"gpu", "Hostname"}, "node": {"instance", "device", "port", "controller"}}
    for rule in rules():
        names = [n for n, _ in Query("", rule["expr"]).metrics]
        known = set().union(*(ours.get(n) or others[n.partition("_")[0]] for n in names))
        words = " ".join(rule["annotations"].values())
        assert set(re.findall(r"\$labels\.(\w+)", words)) <= known, rule["alert"]
        assert {"summary", "description"} <= set(rule["annotations"]), rule["alert"]


@no_promtool
def test_prometheus_accepts_rules_and_every_expression_of_the_dashboards(tmp_path: Path) -> None:
    every = [{"record": f"x:{i}", "expr": q.expression} for i, q in enumerate(queries())]
    (tmp_path / "all.yml").write_text(yaml.safe_dump({"groups": [{"name": "all", "rules": every}]}))
    promtool("check", "rules", str(RULES_FILE), str(tmp_path / "all.yml"))


@no_promtool
def test_alerts_fire_when_they_should(tmp_path: Path) -> None:
    document = load_yaml(RULES_FILE.read_text())
    for group in document["groups"]:
        for rule in group["rules"]:
            del rule["annotations"]  # promtool compares them word by word
    (tmp_path / "rules.yml").write_text(yaml.safe_dump(document))
    cases = cases_of_alerts() | {"rule_files": ["rules.yml"]}
    (tmp_path / "tests.yml").write_text(yaml.safe_dump(cases))
    promtool("test", "rules", str(tmp_path / "tests.yml"))


def test_each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    cases = [case for test in cases_of_alerts()["tests"] for case in test["alert_rule_test"]]
    names = {rule["alert"] for rule in rules()}
    assert {c["alertname"] for c in cases if c["exp_alerts"]} == names
    assert {c["alertname"] for c in cases if not c["exp_alerts"]} == names


def cases_of_alerts() -> dict[str, Any]:
    return dict(load_yaml((CASES / "alerts.test.yml").read_text()))


def promtool(*words: str) -> None:
    done = subprocess.run([str(PROMTOOL), *words], capture_output=True, text=True, check=False, timeout=60)
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("board", dashboards().values(), ids=dashboards())
def test_a_dashboard_has_what_grafana_needs(board: dict[str, Any]) -> None:
    """Fields and limits: kinds/dashboard/dashboard_kind.cue of grafana/grafana."""
    assert board["id"] is None
    assert re.fullmatch(r"[a-z-]{8,40}", board["uid"])
    assert board["schemaVersion"] == 36
    assert {"from", "to"} == set(board["time"])
    ids = [p["id"] for p in board["panels"]]
    assert len(set(ids)) == len(ids)
    for panel in board["panels"]:
        place = panel["gridPos"]
        assert place["x"] + place["w"] <= 24
        assert panel["type"] == "row" or panel["targets"], panel["title"]
        assert len({t["refId"] for t in panel.get("targets", ())}) == len(panel.get("targets", ()))


@pytest.mark.parametrize("board", dashboards().values(), ids=dashboards())
def test_no_panel_covers_another(board: dict[str, Any]) -> None:
    taken: set[tuple[int, int]] = set()
    for panel in board["panels"]:
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"]) for y in range(place["y"], place["y"] + place["h"])}
        assert not taken & cells, panel["title"]
        taken |= cells


@pytest.mark.parametrize("board", dashboards().values(), ids=dashboards())
def test_variables_and_links_lead_somewhere(board: dict[str, Any]) -> None:
    variables = {v["name"] for v in board["templating"]["list"]}
    text = repr(board["panels"]) + repr([a.get("expr") for a in board["annotations"]["list"]])
    assert set(re.findall(r"\$\{?(\w+)", text)) <= variables
    assert {link["url"].rpartition("/")[2] for link in board["links"]} <= {b["uid"] for b in dashboards().values()}
    assert {"Admissions", "Drains", "Quarantines"} <= {a["name"] for a in board["annotations"]["list"]}
