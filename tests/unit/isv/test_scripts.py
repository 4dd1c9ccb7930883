"""The scripts of contrib/isv on a site with a prepared record: what they claim, and what they do not."""

from __future__ import annotations

import json
import re
import shlex
import sys
from typing import TYPE_CHECKING, Any

import pytest
import yaml
from jsonschema import Draft202012Validator

from clusterctl.core.cloud_events import notice_event
from clusterctl.model.notice import MaintenanceNotice, NoticeState, Period
from clusterctl_validators.probe import CommandResult
from support.isv_site import BAD, BUSY, GONE, GOOD, SCRIPTS, IsvSite, standing_in, validated_agents, validated_keys, write_isv_site
from support.isv_suite import has_suite, required, verdict
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

STEPS: dict[str, dict[str, Any]] = load_yaml((ROOT / "tests/cases/isv/steps.yml").read_text())
SKIPPED = ("query_switch_firmware",)
EVENT = {
    "specversion": "1.0",
    "type": "clusterctl.node.quarantined",
    "subject": BAD,
    "time": "2026-03-14T09:00:00Z",
    "data": {"reason": "slow"},
}
BEFORE, BEGINS, DURING, ENDS = (f"2026-03-{day}T09:00:00.000000Z" for day in (14, 15, 16, 17))
ENTRY = {"log": "SEL", "id": "1", "created": "", "severity": "OK", "message": "power on"}
BMC = {"name": BAD, "problem": "", "power": "on", "serial": "SYS-1", "log": [ENTRY], "missing": {}}
TRIED = {"user": "auditor", "refused": True, "answer": "HTTP 403", "privileged_answer": "accepted", "logged": ENTRY}
SAFE = {
    **BMC,
    "tls_verified": True,
    "ipmi_over_lan": False,
    "http_without_tls": False,
    "redfish_without_account": False,
    "accounts": TRIED,
}
LOGGED = {"name": GOOD, "problem": "", "entries": [{"at": "2026-03-14T09:00:00.000000Z"}, {"at": "2026-03-14T09:01:00.000000Z"}]}
SILENT = {"name": BAD, "problem": "", "entries": []}
# Those of one set of documents.
CONTACTING = (
    "query_bmc_kernel_logs",
    "bmc_protocol_security",
    "host_status_log",
    "query_ib_tenant_isolation",
    "query_ib_keys",
    "describe_instance",
)


def notice_document(state: NoticeState, at: str = BEFORE, *, nodes: tuple[str, ...] = (GOOD, BUSY)) -> str:
    """The event of a notice, as clusterctl sends it."""
    notice = MaintenanceNotice(3, 7, state, at, "rack-12", nodes, Period(BEGINS, ENDS), "new switch", "ada")
    return json.dumps(notice_event(notice, "urn:x", str).document())


def printing(folder: Path, document: dict[str, Any]) -> str:
    """A command that prints a document, as clusterctl would."""
    (folder / "document.json").write_text(json.dumps(document))
    return shlex.join([sys.executable, "-c", f"print(open({str(folder / 'document.json')!r}).read())"])


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[int, dict[str, Any]]]:
    """The answer of every step, in an order in which maintenance is seen after it was asked for."""
    folder = tmp_path_factory.mktemp("isv") / "site"
    site = write_isv_site(folder)
    sent = (json.dumps(EVENT), json.dumps(EVENT | {"type": "clusterctl.node.admitted"}), notice_document(NoticeState.PLANNED))
    (folder / "delivered.jsonl").write_text("".join(sent))
    keys = {GOOD: ["0x7fff", "0x8001"], BUSY: ["0x7fff", "0x8001"], BAD: ["0x7fff"], GONE: ["0x7fff"]}
    protected = dict.fromkeys(keys, "key_at_level_2")
    documents = {
        "validate": validated_keys(tmp_path_factory.mktemp("nodes"), keys, protected),
        "bmc": {"nodes": [SAFE]},
        "logs": {"nodes": [LOGGED]},
    }
    command = standing_in(folder, documents)
    found = {step: site.run(step, *STEPS[step]["words"], command=command) for step in CONTACTING}
    agents = standing_in(folder, {"validate": validated_agents(folder, dict.fromkeys((GOOD, BUSY, BAD), "200\n"))})
    found["query_node_health_agents"] = site.run("query_node_health_agents", command=agents)
    order = [s for s in STEPS if s not in {*found, "query_maintenance_events"}]
    return found | {step: site.run(step, *STEPS[step]["words"]) for step in (*order, "query_maintenance_events")}


@pytest.fixture
def site(tmp_path: Path) -> IsvSite:
    return write_isv_site(tmp_path / "site")


@pytest.mark.parametrize("step", STEPS)
def test_an_answer_has_what_the_suite_wants(answers: dict[str, tuple[int, dict[str, Any]]], step: str) -> None:
    code, answer = answers[step]
    assert (code, answer["success"], answer.get("skipped")) == (0, True, None), answer
    assert [e.message for e in Draft202012Validator(STEPS[step]["passes"]).iter_errors(answer)] == []
    assert not Draft202012Validator(STEPS[step]["passes"]).is_valid({"success": True}), "a schema that takes anything"


@pytest.mark.skipif(not has_suite(), reason="CLUSTERCTL_ISV_SUITE names no checkout of NVIDIA/ai-cloud-validation")
@pytest.mark.parametrize("step", STEPS)
def test_the_check_of_the_suite_passes(answers: dict[str, tuple[int, dict[str, Any]]], step: str) -> None:
    assert verdict(STEPS[step]["check"], answers[step][1], STEPS[step].get("limits", {})) == STEPS[step].get("verdict", "passed")


def test_the_numbers_are_those_of_the_record(answers: dict[str, tuple[int, dict[str, Any]]]) -> None:
    metrics = answers["query_governance_metrics"][1]["metrics"]
    assert metrics["delivered"] == {"nodes": 3, "gpus": 24}
    assert metrics["healthy"] == metrics["reserved"] == {"nodes": 2, "gpus": 16}
    assert metrics["active"] == {"nodes": 1, "gpus": 8}
    nodes = {n["instance_id"]: n for n in answers["query_fleet_inventory"][1]["nodes"]}
    assert {n: (v["health_state"], v["in_use"], v["account_id"]) for n, v in nodes.items()} == {
        GOOD: ("healthy", False, "acme"),
        BUSY: ("healthy", True, "acme"),
        BAD: ("unhealthy", False, "own"),
    }
    (rack,) = answers["query_health_aggregation"][1]["groups"]
    assert (rack["name"], rack["healthy"], rack["unhealthy_hosts"]) == ("rack-12", 2, [f"{BAD}-system"])
    assert {h["failure_domain"] for h in answers["query_topology"][1]["hosts"]} == {"rack-12"}
    events = answers["query_maintenance_events"][1]["events"]
    assert (events[0]["machine_id"], events[-1]["machine_id"]) == (f"{GOOD}-system", f"{BUSY}-system")
    planned = [e for e in events if e["status"] == "planned"]
    assert [(e["message"], e["opened_by"], e["begins_at"] < e["ends_at"]) for e in planned] == [("new switch", "ada", True)]
    assert [n["machine_id"] for n in answers["query_failure_notifications"][1]["notifications"]] == [BAD]
    assert [n["machine_id"] for n in answers["query_planned_notifications"][1]["notifications"]] == [GOOD, BUSY]


@pytest.mark.parametrize("step", SKIPPED)
def test_what_is_never_recorded_is_skipped_with_the_reason(tmp_path: Path, step: str) -> None:
    code, answer = IsvSite(tmp_path).run("not_recorded", "--step", step)
    assert (code, answer["skipped"]) == (0, True)
    assert answer["skip_reason"].startswith("clusterctl ")


SENT: dict[str, tuple[tuple[str, ...], list[tuple[str, str, str]]]] = {
    "nothing": ((), []),
    "a failure alone": ((json.dumps(EVENT),), []),
    "cancelled alone": ((notice_document(NoticeState.CANCELLED),), []),
    "moved after it began": ((notice_document(NoticeState.MOVED, DURING),), []),
    "announced when it began": ((notice_document(NoticeState.PLANNED, BEGINS),), []),
    "moved ahead": (
        (notice_document(NoticeState.PLANNED, nodes=(BAD,)), notice_document(NoticeState.MOVED, nodes=(GOOD,))),
        [(BAD, "clusterctl.maintenance.planned", BEFORE), (GOOD, "clusterctl.maintenance.moved", BEFORE)],
    ),
}


@pytest.mark.parametrize("case", SENT)
def test_only_a_notice_that_was_sent_ahead_is_shown(tmp_path: Path, case: str) -> None:
    lines, shown = SENT[case]
    (tmp_path / "got.jsonl").write_text("\n".join(lines))
    code, answer = IsvSite(tmp_path).run("query_planned_notifications", "--delivered", "got.jsonl")
    assert (code, answer["notification_channel_observable"]) == (0, True)
    assert [(n["machine_id"], n["type"], n["notified_at"]) for n in answer["notifications"]] == shown
    if has_suite():
        check = verdict("breakfix.PlannedMaintenanceNotificationCheck", answer, {})
        assert check.startswith("passed" if shown else "skipped: No planned maintenance notifications")


NOTHING_SHOWN: dict[str, tuple[tuple[str, ...], str]] = {
    "query_failure_notifications": ((), "no receiver keeps what it got"),
    "query_planned_notifications": ((), "no receiver keeps what it got"),
    "request_host_replacement": (("--machine-id", BUSY), "crossed no threshold"),
}


@pytest.mark.parametrize("script", NOTHING_SHOWN)
def test_what_is_not_shown_here_is_skipped(site: IsvSite, script: str) -> None:
    words, why = NOTHING_SHOWN[script]
    code, answer = site.run(script, *words)
    assert (code, answer["skipped"]) == (0, True)
    assert why in answer["skip_reason"]


FAILURES: dict[str, tuple[str, tuple[str, ...], str]] = {
    "no tenant": ("query_governance_metrics", (), "no pool reports the tenant of a node"),
    "no core switch": ("backend_switch_fabric", ("--node-id", GOOD), "declares no core switch"),
    "no spine": ("backend_switch_fabric", ("--node-id", BUSY), "no spine and no core switch"),
    "unknown node": ("backend_switch_fabric", ("--node-id", "n9"), "no node of the inventory is called 'n9'"),
    "no NVLink domain": ("nvlink_domain", ("--node-id", BUSY), "declares no nvlink_domain"),
    "unknown machine": ("return_node_maintenance", ("--machine-id", "n9"), "no recorded node has the name or the serial 'n9'"),
    "unknown rack": ("return_rack_maintenance", ("--rack-id", "r9"), "no recorded node is in the rack 'r9'"),
    "no such file": ("query_failure_notifications", ("--delivered", "no.jsonl"), "no.jsonl"),
    "no such file of notices": ("query_planned_notifications", ("--delivered", "no.jsonl"), "no.jsonl"),
    "no such step": ("not_recorded", ("--step", "x"), "no step is called 'x'"),
}


@pytest.mark.parametrize("case", FAILURES)
def test_what_is_not_known_is_a_failure_with_the_reason(site: IsvSite, case: str) -> None:
    script, words, why = FAILURES[case]
    code, answer = site.run(script, *words)
    assert (code, answer["success"]) == (1, False)
    assert why in answer["error"]


@pytest.mark.parametrize("script", ["query_governance_metrics", "query_fleet_inventory"])
def test_the_local_pool_does_not_tell_what_is_in_use(tmp_path: Path, script: str) -> None:
    code, answer = write_isv_site(tmp_path / "site", pool=False).run(script, "--tenant-label", "tenant")
    assert (code, answer["error"]) == (1, "the pool does not report which nodes run jobs")


def test_cpus_without_a_serial_are_no_machine_without_cpus(tmp_path: Path) -> None:
    parts = [{"kind": "system", "serial": "S1"}, {"kind": "gpu", "serial": "G1"}]
    command = printing(tmp_path, {"nodes": [{"name": GOOD, "parts": parts}, {"name": BUSY, "parts": []}]})
    (machine,) = IsvSite(tmp_path).run("query_serial_numbers", command=command)[1]["machines"]
    assert machine["components"]["cpu"] == {"present": True, "identifiers": []}
    assert machine["components"]["nic"] == {"present": False, "identifiers": []}
    assert machine["machine_id"] == "S1"


def test_a_health_agent_that_is_not_healthy_or_not_reached_does_not_run(site: IsvSite, tmp_path: Path) -> None:
    refused = CommandResult(1, stderr="ConnectionRefusedError: [Errno 111] Connection refused\n")
    command = standing_in(tmp_path, {"validate": validated_agents(tmp_path, {GOOD: "200\n", BUSY: refused, BAD: ""})})
    code, answer = site.run("query_node_health_agents", command=command)
    assert (code, answer["agents_observable"]) == (0, True)
    assert {a["node_id"]: (a["agent_name"], a["running"], a["why"].split(": ")[-1]) for a in answer["agents"]} == {
        f"{GOOD}-system": ("gpud", True, ""),
        f"{BUSY}-system": ("gpud", False, "[Errno 111] Connection refused"),
        f"{BAD}-system": ("gpud", False, "no route to host"),
    }


def test_a_node_that_requires_no_health_agent_has_none(tmp_path: Path) -> None:
    site = write_isv_site(tmp_path / "site", agent="")
    code, answer = site.run("query_node_health_agents")
    assert (code, answer["skipped"], answer["agents"]) == (0, True, [])
    hosts = tmp_path / "site" / "site" / "hosts.yml"
    changed = load_yaml(hosts.read_text())
    changed["all"]["children"]["rack_12"]["hosts"][GOOD]["monitoring_health_agent"] = "nvsentinel"
    hosts.write_text(yaml.safe_dump(changed))
    command = standing_in(tmp_path, {"validate": validated_agents(tmp_path, {GOOD: "200\n"})})
    agents = {a["node_id"]: (a["agent_name"], a["running"]) for a in site.run("query_node_health_agents", command=command)[1]["agents"]}
    assert agents == {f"{GOOD}-system": ("nvsentinel", True), f"{BUSY}-system": ("", False), f"{BAD}-system": ("", False)}


@pytest.mark.parametrize(
    "bmc", [{**BMC, "log": []}, {"name": BAD, "problem": "HTTP 503"}, {**BMC, "log": [], "missing": {"log": "HTTP 404"}}]
)
def test_a_bmc_without_entries_shows_none(tmp_path: Path, bmc: dict[str, Any]) -> None:
    (host,) = IsvSite(tmp_path).run("query_bmc_kernel_logs", command=printing(tmp_path, {"nodes": [bmc]}))[1]["hosts"]
    assert host["kernel_log_available"] is False
    assert host["why"]


UNSAFE: dict[str, tuple[dict[str, Any], dict[str, str]]] = {
    "IPMI": ({"ipmi_over_lan": True}, {"ipmi_disabled": "IPMI over LAN: yes"}),
    "IPMI unknown": ({"ipmi_over_lan": None}, {"ipmi_disabled": "IPMI over LAN: unknown"}),
    "any certificate": ({"tls_verified": False}, {"redfish_tls_enabled": "certificate verified: no"}),
    "HTTP": ({"http_without_tls": None}, {"redfish_plain_http_disabled": "HTTP without TLS: unknown"}),
    "open": ({"redfish_without_account": True}, {"redfish_authentication_required": "answers without an account: yes"}),
    "no roles": ({"accounts": {**TRIED, "refused": False, "answer": "accepted"}}, {"redfish_authorization_enforced": "accepted"}),
    "neither": ({"accounts": {**TRIED, "refused": None, "answer": "HTTP 405"}}, {"redfish_authorization_enforced": "HTTP 405"}),
    "no log": ({"accounts": {**TRIED, "logged": None}}, {"redfish_accounting_enabled": "no log entry names the account"}),
    "no account": (
        {"accounts": None, "missing": {"accounts": "bmc_readonly_user is not set"}},
        dict.fromkeys(("redfish_authorization_enforced", "redfish_accounting_enabled"), "bmc_readonly_user is not set"),
    ),
}


@pytest.mark.parametrize("case", UNSAFE)
def test_one_bmc_that_does_not_show_a_control_fails_its_test(tmp_path: Path, case: str) -> None:
    changed, failing = UNSAFE[case]
    nodes = [SAFE, {**SAFE, "name": GOOD, **changed}]
    code, answer = IsvSite(tmp_path).run("bmc_protocol_security", command=printing(tmp_path, {"nodes": nodes}))
    assert (code, answer["success"]) == (1, False)
    failed = {name: one["message"] for name, one in answer["tests"].items() if not one["passed"]}
    assert failed.keys() == failing.keys()
    assert all(failed[name].startswith(f"1 of 2 BMCs, the first is that of {GOOD}: ") for name in failing)
    assert all(text in failed[name] for name, text in failing.items())


@pytest.mark.parametrize(("nodes", "why"), [([], "the target has no node"), ([SAFE, {"name": GOOD, "problem": "HTTP 503"}], "HTTP 503")])
def test_a_bmc_that_cannot_be_read_shows_no_control(tmp_path: Path, nodes: list[dict[str, Any]], why: str) -> None:
    code, answer = IsvSite(tmp_path).run("bmc_protocol_security", command=printing(tmp_path, {"nodes": nodes}))
    assert (code, answer["success"], "tests" in answer) == (1, False, False)
    assert why in answer["error"]


LOGS: dict[str, tuple[list[dict[str, Any]], str]] = {
    "a host without an entry": ([LOGGED, SILENT], f"no entries of 1 of 2 hosts in the last 5 min: {BAD} (no entries)"),
    "a host that is not reached": ([{**SILENT, "problem": "no route"}], f"no entries of 1 of 1 hosts in the last 5 min: {BAD} (no route)"),
    "no host": ([], "0 entries of 0 hosts"),
}


@pytest.mark.parametrize("case", LOGS)
def test_a_log_without_an_entry_of_every_host_does_not_pass(tmp_path: Path, case: str) -> None:
    nodes, why = LOGS[case]
    code, answer = IsvSite(tmp_path).run("host_status_log", command=printing(tmp_path, {"nodes": nodes}))
    assert (code, answer["success"]) == (1, False)
    assert {name: (one["passed"], why in one["message"]) for name, one in answer["tests"].items()} == {
        "journalctl_recent": (False, True),
        "dmesg_recent": (False, True),
    }


def test_one_source_is_enough(tmp_path: Path) -> None:
    journal, kernel = json.dumps({"nodes": [LOGGED]}), json.dumps({"nodes": [{**LOGGED, "entries": []}]})
    code = f"import sys; print({journal!r} if '--journal' in sys.argv else {kernel!r})"
    status, answer = IsvSite(tmp_path).run("host_status_log", command=shlex.join([sys.executable, "-c", code]))
    assert (status, answer["success"]) == (0, True)
    journal_test = answer["tests"]["journalctl_recent"]
    assert (journal_test["entry_count"], journal_test["latest_timestamp"]) == (2, "2026-03-14T09:01:00.000000Z")
    assert answer["tests"]["dmesg_recent"]["passed"] is False


def test_an_age_that_is_no_number_is_refused(tmp_path: Path) -> None:
    answer = IsvSite(tmp_path).run("host_status_log", "--max-age-minutes", "5m", command="false")[1]
    assert answer["error"] == "--max-age-minutes is not a number: '5m'"


def test_a_clusterctl_that_is_not_there_or_prints_no_document_is_a_failure(tmp_path: Path) -> None:
    for command, why in (("no-such-clusterctl", "does not start"), ("false", "ended with 1: it printed nothing")):
        code, answer = IsvSite(tmp_path).run("query_maintenance_events", command=command)
        assert (code, answer["success"]) == (1, False)
        assert why in answer["error"]


SUITES = ("bare_metal", "network", "security")
PAGE = ROOT / "docs/reference/buyers-requirements.md"


@pytest.mark.parametrize("suite", SUITES)
def test_the_configuration_of_the_provider_names_scripts_and_settings_that_exist(suite: str) -> None:
    text = (ROOT / f"contrib/isv/config/{suite}.yaml").read_text()
    data = load_yaml(text)
    steps = data["commands"][suite]["steps"]
    assert {s["name"] for s in steps} == {n for n, s in STEPS.items() if s["suite"] == suite} | (
        set(SKIPPED) if suite == "bare_metal" else set()
    )
    for step in steps:
        script = SCRIPTS / step["command"].split("/")[-1]
        assert script.is_file()
        options = {w for w in step.get("args", []) if w.startswith("--")}
        assert {o for o in options if f'Option("{o[2:]}"' not in script.read_text()} == set()
        used = {w[2:-2] for w in step.get("args", []) if w.startswith("{{")}
        assert used <= set(data["tests"]["settings"])
    changing = {"describe_instance", "return_node_maintenance", "return_rack_maintenance", "request_host_replacement"}
    assert {s["name"] for s in steps if s.get("skip")} == changing & {s["name"] for s in steps}


@pytest.mark.parametrize("suite", SUITES)
def test_a_setting_that_the_site_has_not_made_is_an_answer_with_the_reason(site: IsvSite, suite: str) -> None:
    """isvctl leaves the words out that its empty settings are: an option is the last word, or before the next one."""
    data = load_yaml((ROOT / f"contrib/isv/config/{suite}.yaml").read_text())
    for step in data["commands"][suite]["steps"]:
        words = [w for w in step.get("args", []) if not w.startswith("{{")]
        if any(w in words for w in ("--step", "--polls")):
            continue
        _, answer = site.run(step["command"].split("/")[-1].removesuffix(".py"), *words, command="false")
        assert answer.get("skip_reason") or answer["error"], step["name"]


def command_of(suite: str, text: str) -> str:
    (found,) = re.findall(rf"uv run (isvctl test run -f \S+/{suite}\.yaml.*)", text)
    return str(found)


@pytest.mark.parametrize("suite", SUITES)
def test_the_printed_command_runs_every_check_of_the_configuration(suite: str) -> None:
    """isvctl leaves a check out that requires a capability which the command does not name, and ends well with none run."""
    command = command_of(suite, PAGE.read_text())
    assert command_of(suite, (ROOT / f"contrib/isv/config/{suite}.yaml").read_text()) == command
    _, _, capability = command.partition(" --capability ")
    wanted = [s["requires"] for s in STEPS.values() if s["suite"] == suite and "requires" in s]
    assert bool(capability) == bool(wanted)
    assert all(capability in one for one in wanted)


@pytest.mark.skipif(not has_suite(), reason="CLUSTERCTL_ISV_SUITE names no checkout of NVIDIA/ai-cloud-validation")
@pytest.mark.parametrize("suite", ["network", "security"])
def test_the_checks_require_what_the_suite_says(suite: str) -> None:
    found = required(suite)
    for step in STEPS.values():
        if step["suite"] == suite:
            assert step.get("requires", []) == found[step["check"].rpartition(".")[2]]


def test_an_option_that_a_script_cannot_do_without_is_named(site: IsvSite) -> None:
    for words in ((), ("--machine-id",), ("--machine-id", "")):
        assert site.run("return_node_maintenance", *words)[1]["error"] == "--machine-id is not set: name or serial of the node"


def test_the_page_has_every_step_with_its_ids() -> None:
    page = PAGE.read_text()
    assert [step for step, wanted in STEPS.items() if f"| {wanted['id']} | `{step}.py` |" not in page] == []
