"""Drivers, firmware and kernels that differ inside a scalable unit are a result of the group, and of no node."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters.config import Config
from clusterctl.adapters.installed_versions_file import INSTALLED_FILE, installed_document, read_installed
from clusterctl.adapters.store import Store
from clusterctl.adapters.validator_declarations import validator_traits
from clusterctl.core.gates.judging.installed_skew import installed_skews, installed_text
from clusterctl.core.installed_versions import installed_versions
from clusterctl.model.errors import ConfigError
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.group_findings import GroupFindings
from clusterctl.model.installed_skew import InstalledVersion
from clusterctl.model.version_skew import VersionNodes
from clusterctl.terminal.gates import show_results
from clusterctl.workflows.burnin.recorded import burnin_run
from clusterctl_validators.finding import Finding, Outcome, Severity
from support.gates import CASES, node
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clusterctl.model.installed_skew import InstalledSkew

ALL_CASES: dict[str, Any] = load_yaml((CASES / "installed_skew" / "cases.yml").read_text(encoding="utf-8"))


def findings(found: Mapping[str, str]) -> tuple[Finding, ...]:
    return tuple(
        Finding(check, check.partition(".")[0], Outcome.NOT_APPLICABLE, Severity.MINOR, found=value) for check, value in found.items()
    )


def skews(nodes: Mapping[str, Mapping[str, str]], units: Mapping[str, str]) -> tuple[InstalledSkew, ...]:
    return installed_skews(
        {n: units.get(n, "") for n in nodes}, {n: installed_versions(findings(found), validator_traits()) for n, found in nodes.items()}
    )


@pytest.mark.parametrize("name", ALL_CASES)
def test_what_the_findings_of_a_units_nodes_say(name: str) -> None:
    case = ALL_CASES[name]
    assert [installed_text(one).partition("; no verdict")[0] for one in skews(case["nodes"], case.get("units", {}))] == case["differ"]


def test_a_skew_warns_once_and_is_what_the_schema_says(capsys: pytest.CaptureFixture[str]) -> None:
    case = ALL_CASES["one node with an older driver"]
    group = GroupFindings(installed_skews=skews(case["nodes"], case["units"]))
    body: dict[str, Any] = {"run": "r", "directory": "d", "level": "standard", "gates": [], "pair_coverage": None, "not_proven": {}}
    show_results("burnin", "table", body, [], list(case["nodes"]), group=group)
    printed = " ".join(capsys.readouterr().out.split())
    assert printed.count("warning: ") == 1
    assert f"warning: {case['differ'][0]}" in printed
    show_results("burnin", "json", body, [], list(case["nodes"]), group=group)
    document = json.loads(capsys.readouterr().out)
    jsonschema.validate(document, json.loads((ROOT / "docs" / "reference" / "schemas" / "judge.schema.json").read_text(encoding="utf-8")))
    (shown,) = document["installed_skews"]
    assert (shown["unit"], shown["component"], shown["majority"]) == ("su1", "GPU driver", True)
    assert shown["versions"][1] == {"version": "575.57.08", "nodes": ["n2"]}


@given(
    st.dictionaries(st.from_regex(r"n[1-9][0-9]?", fullmatch=True), st.sampled_from(["1", "2", "3", "", "no module loaded"]), max_size=12)
)
def test_every_node_that_said_a_version_is_named_once(versions: dict[str, str]) -> None:
    known = {n: v for n, v in versions.items() if v.isdecimal()}
    found = skews({n: {"nvidia_driver.version.running": v} for n, v in versions.items()}, {})
    assert len(found) == (len(set(known.values())) > 1)
    for one in found:
        assert sorted(n for v in one.versions for n in v.nodes) == sorted(known)
        counts = [len(v.nodes) for v in one.versions]
        assert counts == sorted(counts, reverse=True)
        assert one.majority == (counts[0] > counts[1])


def test_a_burnin_knows_what_the_newest_validation_under_the_present_state_saw(tmp_path: Path) -> None:
    config = Config(tmp_path, (), tmp_path)
    saw = {"n1": "6.8.0-1046-nvidia", "p1": "6.8.0-1040-nvidia"}
    with burnin_run("n1", [node("n1")], [node("p1")], config, "quick", in_service=False) as run, Store.open(config.store_url) as store:
        assert run.installed == {}
        results = [NodeFindings(n, NodeStatus.OK, "", findings({"kernel.release.running": kernel}), 1.0) for n, kernel in saw.items()]
        store.register([node("n1"), node("p1")])
        store.save_findings(run.rundir.id, *results)
    with burnin_run("n1", [node("n1")], [node("p1")], config, "quick", in_service=False) as run:
        assert run.installed == {n: (InstalledVersion("kernel", "", kernel),) for n, kernel in saw.items()}
        assert read_installed(run.rundir.path) == run.installed
    changed = replace(node("n1"), spec=replace(node("n1").spec, digest="sha256:1"))
    with burnin_run("n1", [changed], [node("p1")], config, "quick", in_service=False) as run:
        assert set(run.installed) == {"p1"}


@pytest.mark.parametrize(
    "text", ["{", '{"schema_version": 2, "nodes": {}}', '{"schema_version": 1, "nodes": {"n1": [{"component": "kernel"}]}}']
)
def test_damaged_versions_of_a_run_are_an_error(text: str, tmp_path: Path) -> None:
    assert read_installed(tmp_path) == {}
    (tmp_path / "gates").mkdir()
    (tmp_path / INSTALLED_FILE).write_text(text)
    with pytest.raises(ConfigError, match="damaged"):
        read_installed(tmp_path)


def test_the_document_says_what_was_read(tmp_path: Path) -> None:
    installed: dict[str, Sequence[InstalledVersion]] = {"n1": (InstalledVersion("BIOS", "SYS-821GE-TNHR", "3.2"),)}
    (tmp_path / "gates").mkdir()
    (tmp_path / INSTALLED_FILE).write_text(json.dumps(installed_document(installed)))
    assert read_installed(tmp_path) == installed


def test_the_nodes_of_the_first_version_are_those_of_most() -> None:
    (one,) = skews({n: {"kernel.release.running": v} for n, v in (("n1", "6.8.0-1"), ("n2", "6.8.0-2"), ("n3", "6.8.0-2"))}, {})
    assert one.versions == (VersionNodes("6.8.0-2", ("n2", "n3")), VersionNodes("6.8.0-1", ("n1",)))
