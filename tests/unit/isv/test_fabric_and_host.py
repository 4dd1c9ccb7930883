"""Partitions of a fabric, and the node at which the suite logs in: what is claimed, what is refused."""

from __future__ import annotations

import json
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.model.findings import NodeStatus
from support.isv_site import BAD, GOOD, IsvSite, standing_in, validated_keys, write_isv_site
from support.isv_suite import has_suite, login, verdict
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

PARTITIONS: dict[str, dict[str, Any]] = load_yaml((ROOT / "tests/cases/isv/partitions.yml").read_text())
PORT = {"device": "mlx5_3", "port": 1, "rate_gbps": 400}
M_KEYS: dict[str, dict[str, Any]] = load_yaml((ROOT / "tests/cases/isv/m_keys.yml").read_text())
CHECK = "infiniband.IbTenantIsolationCheck"
NODE = {
    "name": BAD,
    "serial": "",
    "state": "quarantined",
    "held_by": None,
    "in_use": False,
    "address": "192.0.2.3",
    "problem": "",
    "power": "on",
}
WORDS = ("--machine-id", BAD, "--ssh-user", "ada", "--key-file", "/keys/ada")


def fabric(folder: Path, keys: dict[str, list[str]], tenants: dict[str, str], m_keys: dict[str, str] | None = None) -> dict[str, Any]:
    """The documents of clusterctl about nodes whose ports have these keys."""
    nodes = [{"name": n, "labels": {"tenant": tenants[n]} if n in tenants else {}} for n in keys]
    declared = {n: {"infiniband_ports": [PORT], "infiniband_m_key": n in (m_keys or {})} for n in keys}
    specs = [
        *({"nodes": [n], "roles": {"infiniband": values}} for n, values in declared.items()),
        {"nodes": ["head"], "roles": {"kernel": {}}},
    ]
    return {"inventory": {"nodes": nodes}, "profile": {"specs": specs}, "validate": validated_keys(folder, keys, m_keys)}


def ask(folder: Path, script: str, documents: dict[str, Any], *words: str) -> tuple[int, dict[str, Any]]:
    return IsvSite(folder).run(script, *words, command=standing_in(folder, documents))


@pytest.mark.parametrize("case", PARTITIONS.values(), ids=PARTITIONS)
def test_the_partitions_of_tenants(tmp_path: Path, case: dict[str, Any]) -> None:
    code, answer = ask(tmp_path, "query_ib_tenant_isolation", fabric(tmp_path, case["keys"], case["tenants"]), "--tenant-label", "tenant")
    assert (code, answer["success"]) == (0, True)
    found = [[p["partition_key"], p["tenant_id"], p["nodes"]] for p in answer.get("partitions", ())]
    assert found == case.get("partitions", [])
    assert case.get("why", "") in answer.get("skip_reason", "")
    if has_suite():
        assert verdict(CHECK, answer, {"min_partitions": 1}).startswith(case["verdict"])


@pytest.mark.parametrize(("keys", "number"), [(["0x7fff"], 0), (["0xffff"], 0), (["0xffff", "0x8001", "0x0001"], 1)])
def test_the_default_partition_is_no_key_of_a_partition(tmp_path: Path, keys: list[str], number: int) -> None:
    answer = ask(tmp_path, "query_ib_keys", fabric(tmp_path, {"n1": keys}, {}))[1]
    assert (answer["partitions_with_pkey"], answer["keys"]["p_key"]["configured"]) == (number, bool(number))
    assert {name for name, key in answer["keys"].items() if key["configured"] is None} == answer["keys"].keys() - {"p_key"}


@pytest.mark.parametrize("case", M_KEYS.values(), ids=M_KEYS)
def test_the_m_key_of_the_nodes(tmp_path: Path, case: dict[str, Any]) -> None:
    documents = fabric(tmp_path, {"n1": ["0x8001"], "n2": ["0x8001"]}, {}, case["nodes"])
    for node in documents["validate"]["nodes"]:
        if node["name"] in case.get("without", ()):
            node["findings"] = [f for f in node["findings"] if f["check"].endswith(".pkeys")]
    code, answer = ask(tmp_path, "query_ib_keys", documents)
    assert code == 0
    shown = answer["keys"]["management_key"]
    assert (shown["configured"], shown["detail"]) == (case["configured"], case["detail"])
    assert "1234abcd5678ef01" not in str(answer) + str(documents)
    if has_suite():
        found = verdict("infiniband.IbKeysConfiguredCheck", answer, {"required_keys": ["p_key", "management_key"]})
        assert found.startswith(case["verdict"])


def test_partitions_are_read_without_a_query_that_ports_take_for_a_violation(tmp_path: Path) -> None:
    """Only the step about keys has the M_Key checked."""
    documents = fabric(tmp_path, {"n1": ["0x8001"]}, {}, {"n1": "no_key"})
    (tmp_path / "documents.json").write_text(json.dumps(documents))
    code = f"import json, sys; d = json.load(open({str(tmp_path / 'documents.json')!r})); open({str(tmp_path / 'asked')!r}, 'a').write(str(sys.argv[1:])); print(json.dumps(d[sys.argv[1]]))"
    command = shlex.join([sys.executable, "-c", code])
    asked = {}
    for script, words in (("query_ib_tenant_isolation", ("--tenant-label", "tenant")), ("query_ib_keys", ())):
        IsvSite(tmp_path).run(script, *words, command=command)
        asked[script] = (tmp_path / "asked").read_text()
        (tmp_path / "asked").unlink()
    assert {script: "m_key" in words for script, words in asked.items()} == {"query_ib_tenant_isolation": False, "query_ib_keys": True}


@pytest.mark.parametrize("script", ["query_ib_keys", "query_ib_tenant_isolation"])
def test_a_node_that_gave_no_key_leaves_nothing_to_claim(tmp_path: Path, script: str) -> None:
    documents = fabric(tmp_path, {"n1": ["0x8001"], "n2": [], "n3": ["0x8001"], "n4": ["0x8001"]}, {})
    silent, absent = documents["validate"]["nodes"][2:]
    silent |= {"status": NodeStatus.UNREACHABLE.value, "findings": []}
    documents["validate"]["nodes"].remove(absent)
    code, answer = ask(tmp_path, script, documents, *(("--tenant-label", "tenant") if "tenant" in script else ()))
    assert (code, answer["success"]) == (1, False)
    assert answer["error"] == "no P_Key was read from 3 of 4 nodes: n2, n3, n4"


def test_one_port_of_several_without_a_key_counts_as_none(tmp_path: Path) -> None:
    documents = fabric(tmp_path, {"n1": ["0x8001"]}, {})
    (node,) = documents["validate"]["nodes"]
    node["findings"].append({**node["findings"][0], "found": "none"})
    assert "from 1 of 1 nodes: n1" in ask(tmp_path, "query_ib_keys", documents)[1]["error"]


def test_without_infiniband_there_is_nothing_to_show(tmp_path: Path) -> None:
    documents = fabric(tmp_path, {"n1": []}, {})
    documents["profile"]["specs"][0]["roles"]["infiniband"]["infiniband_ports"] = []
    answer = ask(tmp_path, "query_ib_keys", documents)[1]
    assert (answer["skipped"], answer["skip_reason"]) == (True, "no node of the inventory declares infiniband_ports")


def test_tenants_have_to_be_named(tmp_path: Path) -> None:
    code, answer = ask(tmp_path, "query_ib_tenant_isolation", {})
    assert (code, answer["error"]) == (1, "no pool reports the tenant of a node: name a label of node_labels with --tenant-label")


def machine(**changes: object) -> dict[str, Any]:
    document = {"nodes": [NODE | changes]}
    return {"status": document, "inventory": document, "bmc": document}


def test_the_suite_logs_in_where_the_answer_says(tmp_path: Path) -> None:
    code, answer = ask(tmp_path, "describe_instance", machine(), *WORDS)
    assert (code, answer["state"], answer["instance_id"]) == (0, "running", BAD)
    if has_suite():
        found = login(answer)
        assert (found["ssh_host"], found["ssh_user"], found["ssh_key_path"]) == ("192.0.2.3", "ada", "/keys/ada")
    assert ask(tmp_path, "describe_instance", machine(power="off"), *WORDS)[1]["state"] == "stopped"
    assert ask(tmp_path, "describe_instance", machine(power="unknown"), *WORDS)[1]["state"] == "unknown"


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"state": "admitted"}, "is admitted: the suite would load its GPUs"),
        ({"state": "provisioning"}, "is provisioning"),
        ({"held_by": {"holder": "ada", "run_id": "run-1"}}, "a run works on"),
        ({"in_use": True}, "jobs still run on"),
        ({"address": ""}, "is not in the inventory"),
        ({"problem": "HTTP 503"}, "does not say whether r12-n03 is on: HTTP 503"),
    ],
)
def test_the_suite_is_sent_to_no_node_that_may_run_jobs(tmp_path: Path, changes: dict[str, object], why: str) -> None:
    code, answer = ask(tmp_path, "describe_instance", machine(**changes), *WORDS)
    assert (code, answer["success"]) == (1, False)
    assert why in answer["error"]
    assert "state" not in answer


def test_a_member_of_the_pool_of_a_real_record_is_refused(tmp_path: Path) -> None:
    answer = write_isv_site(tmp_path / "site").run("describe_instance", *("--machine-id", GOOD, *WORDS[2:]))[1]
    assert answer["error"].startswith(f"{GOOD} is admitted")


def test_racks_are_groups_and_a_node_without_one_has_none(tmp_path: Path) -> None:
    nodes = [NODE | {"name": n, "rack": rack, "healthy": ok} for n, rack, ok in (("n1", "r1", True), ("n2", "", False), ("n3", "r1", True))]
    documents = {"status": {"nodes": nodes}}
    groups = ask(tmp_path, "query_health_aggregation", documents)[1]["groups"]
    assert [(g["name"], g["total"], g["status"], g["unhealthy_hosts"]) for g in groups] == [
        ("", 1, "Degraded", ["n2"]),
        ("r1", 2, "Healthy", []),
    ]
    answer = ask(tmp_path, "query_topology", documents)[1]
    assert [h["failure_domain"] for h in answer["hosts"]] == ["r1", "", "r1"]
    if has_suite():
        assert verdict("topology.FailureDomainObservabilityCheck", answer, {}).startswith("failed: 1/3 host(s) report no failure domain")
