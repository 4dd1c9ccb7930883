"""storage_throughput: what fails a node, what belongs to the group, what is not evidence; and how it is planned."""

from __future__ import annotations

import json
import re
from dataclasses import asdict, replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.planning.gate_plan import plan_gates, plan_search
from clusterctl.core.gates.planning.header import header_from, header_of
from clusterctl.core.gates.planning.step import BurnInPart
from clusterctl.core.gates.storage_throughput import GATE
from clusterctl.core.gates.subject import subject_of
from clusterctl.core.parsers import UnparsableError, parse_output
from clusterctl.model.errors import ConfigError, GatesInvalidError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl_tools.storage_throughput import read_run
from support.gates import CASES, REPAIR, SOURCE, TODAY
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.shared_storage import MOUNT, PATH, storage_output, storage_records, storage_subject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, RawRecord

EXAMPLES = load_yaml((CASES / "judge_storage_throughput" / "cases.yml").read_text(encoding="utf-8"))
SILENT = (Outcome.PASS, Outcome.NOT_APPLICABLE)
NAMES = ("n1", "n2", "n3")


def limits(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {"gate": "storage_throughput", "metric": metric, "kind": kind, "value": value, "unit": "GB/s", **SOURCE}
        for kind, declared in (("floor", case.get("floors", {})), ("ceiling", case.get("ceilings", {})))
        for metric, value in declared.items()
    ]


def judged(subjects: Sequence[Subject], records: Sequence[RawRecord]) -> tuple[GateResult, ...]:
    return judge(subjects, records, level="full", gates=["storage_throughput"])


def case_records(case: Mapping[str, Any], names: Sequence[str]) -> list[RawRecord]:
    other, cut = case.get("other", {}), case.get("cut", {})
    outputs = {name: storage_output(i, len(names), other.get(name), cut=cut.get(name)) for i, name in enumerate(names)}
    changed = case.get("record", {})
    fields = {
        name: {**own, **({"error_code": GateReason(own["error_code"])} if "error_code" in own else {})}
        for name, own in changed.items()
        if own
    }
    stdout = {name: own.pop("stdout") for name, own in fields.items() if "stdout" in own}
    return [r for r in storage_records(names, {**outputs, **stdout}, **fields) if changed.get(r.node, {}) is not None]


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    names = [f"n{i}" for i in range(1, case["nodes"] + 1)]
    subjects = [storage_subject(name, baselines=limits(case), **case.get("settings", {})) for name in names]
    rest = case.get("rest", ())
    again = [replace(r, step=r.step.replace("@", ".rest@")) for r in storage_records(rest, {})] if rest else []
    results = judged(subjects, [*case_records(case, names), *again])
    bad = [r for r in results if r.outcome not in SILENT]
    named = {words.partition(" ")[0] for words in case["results"]} - {"*"}
    every = [f"{name} {words[2:]}" for words in case["results"] if words.startswith("*") for name in names if name not in named]
    expected = [words for words in case["results"] if not words.startswith("*")] + every
    assert sorted(f"{r.node} {r.outcome.value} {r.rule} {r.reason}" for r in bad) == sorted(expected)
    assert {r.node for r in results} == set(names)
    assert all(r.hint for r in bad)
    assert all("{" not in r.hint for r in bad)
    assert not [r for r in bad if r.outcome is Outcome.COULD_NOT_RUN and REPAIR.search(r.hint)]
    assert any(case.get("says", "") in r.detail for r in results)
    assert any(case.get("hint", "") in r.hint for r in results)


def test_the_group_has_figures_with_their_spread_and_the_slowest_node() -> None:
    outputs = {"n2": storage_output(1, 3, {"write": {"duration_s": 4.0}, "seen": {"round_trips_s": [0.3] * 10}})}
    results = judged([storage_subject(name) for name in NAMES], storage_records(NAMES, outputs))
    own = {r.metric: r for r in results if r.node == "n1"}
    assert {m: (round(r.value or 0.0, 3), r.unit) for m, r in own.items()} == {
        "write_bandwidth": (1.611, "GB/s"),
        "read_bandwidth": (6.442, "GB/s"),
        "file_creates": (1500.0, "files/s"),
        "file_stats": (6000.0, "files/s"),
        "file_removes": (3000.0, "files/s"),
        "seen_round_trip": (0.3, "s"),
    }
    assert own["write_bandwidth"].detail == "3 nodes together, 0.537 to 1.07 GB/s each, median 1.07, slowest n2"
    assert own["seen_round_trip"].detail.endswith("slowest n2")
    assert {r.device for r in results} == {PATH}
    assert {r.peers for r in results} == {NAMES}


def test_a_read_that_a_cache_may_have_answered_is_named() -> None:
    outputs = {"n2": storage_output(1, 3, {"read": {"direct": False}})}
    results = judged([storage_subject(name) for name in NAMES], storage_records(NAMES, outputs))
    (read,) = [r for r in results if r.node == "n1" and r.metric == "read_bandwidth"]
    assert "without direct I/O on n2" in read.detail


def test_a_floor_may_be_that_of_one_mount() -> None:
    for op, outcome in (("scratch", Outcome.COULD_NOT_RUN), ("home", Outcome.PASS)):
        floor = {
            "gate": "storage_throughput",
            "metric": "write_bandwidth",
            "kind": "floor",
            "value": 9.0,
            "unit": "GB/s",
            "op": op,
            **SOURCE,
        }
        results = judged([storage_subject(name, baselines=[floor]) for name in NAMES], storage_records(NAMES))
        assert {r.outcome for r in results if r.metric == "write_bandwidth"} == {outcome}


def test_the_floor_of_the_page_of_gates_holds_from_60_nodes_on() -> None:
    page = (ROOT / "docs" / "reference" / "gates.md").read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if "gates_baselines_storage" in b]
    floors = load_yaml(block)["gates_baselines_storage"]
    for count, compared in ((59, False), (60, True)):
        names = [f"n{i}" for i in range(1, count + 1)]
        results = judged([storage_subject(name, baselines=floors) for name in names], storage_records(names))
        assert {r.limit for r in results if r.metric == "write_bandwidth"} == {40.0 if compared else None}


def plan_of(subjects: Sequence[Subject], rung: str = "") -> Any:
    return plan_gates(subjects, "full", ["storage_throughput"], BurnInPart.GROUP, rung)


def test_every_node_gets_its_number_and_the_first_one_waits_for_all() -> None:
    plan = plan_of([storage_subject(name, file_mib=64, timeout_s=100) for name in NAMES])
    steps = {name: own[0] for name, own in plan.steps.items()}
    assert {len(own) for own in plan.steps.values()} == {1}
    assert [(s.name, s.device, s.timeout_s, s.exclusive) for s in steps.values()] == [
        ("group@nas1:/scratch", PATH, 520, True), ("member@nas1:/scratch", PATH, 520, True), ("member@nas1:/scratch", PATH, 520, True)]  # fmt: skip
    assert steps["n1"].peers == NAMES
    assert [name for name, _ in steps["n1"].members] == ["n2", "n3"]
    assert [(steps[n].peer, steps[n].peer_address, steps[n].peers) for n in ("n2", "n3")] == [("n1", steps["n1"].address, ())] * 2
    assert " ".join(steps["n3"].argv) == (
        "python3 storage_throughput.py --mount /mnt/scratch --folder .clusterctl-burnin --key nas1:/scratch --index 2 --count 3 "
        "--files 8 --file-mib 64 --small-files 1000 --asks 10 --phase-s 60 --limit-s 520"
    )


def test_each_file_system_is_measured_by_those_that_mount_it_one_after_the_other() -> None:
    home = {**MOUNT, "name": "home", "source": "nas2:/home", "path": "/home"}
    elsewhere = {**MOUNT, "path": "/scratch"}
    mounts = {"n1": [MOUNT, home], "n2": [elsewhere, home], "n3": [MOUNT]}
    plan = plan_of([storage_subject(name, mounts=own) for name, own in mounts.items()])
    taken = {name: [(s.name, s.device, s.batch) for s in own] for name, own in plan.steps.items()}
    first, second = (batch for _, _, batch in taken["n1"])
    assert first < second
    assert taken == {
        "n1": [("group@nas1:/scratch", PATH, first), ("group@nas2:/home", "/home", second)],
        "n2": [("member@nas1:/scratch", "/scratch", first), ("member@nas2:/home", "/home", second)],
        "n3": [("member@nas1:/scratch", PATH, first)],
    }


@pytest.mark.parametrize(
    "mount",
    [
        {**MOUNT, "options": ["vers=4.2", "ro"]},
        {**MOUNT, "kind": "generic", "fstype": "tmpfs"},
        {**MOUNT, "required": False},
    ],
    ids=["read-only", "generic", "not required"],
)
def test_what_is_not_shared_and_writable_is_measured_only_by_its_name(mount: dict[str, Any]) -> None:
    subjects = [storage_subject(name, mounts=[mount]) for name in NAMES]
    assert not any(plan_of(subjects).steps.values())
    found = judged(subjects, [])
    assert {(r.outcome, r.reason, r.rule) for r in found} == {(Outcome.NOT_APPLICABLE, GateReason.NOT_COVERED, "mounts")}
    assert all(plan_of([storage_subject(name, mounts=[mount], mounts_=["scratch"]) for name in NAMES]).steps.values())


def test_a_mount_that_nobody_declared_cannot_be_chosen() -> None:
    with pytest.raises(ConfigError, match="'home' is not declared"):
        plan_of([storage_subject(name, mounts_=["home"]) for name in NAMES])


@pytest.mark.parametrize("folder", ["/etc", "../etc", "a/../../etc", "a//b", "", ".", "..", "a/.", "a b"])
def test_a_folder_that_leads_out_of_the_mount_is_refused(folder: str) -> None:
    with pytest.raises(GatesInvalidError, match="folder"):
        storage_subject("n1", folder=folder)


def test_a_node_that_shares_nothing_with_another_one_could_not_run() -> None:
    home = {**MOUNT, "name": "home", "source": "nas2:/home", "path": "/home"}
    lonely = [storage_subject("n1"), storage_subject("n2"), storage_subject("n3", mounts=[home])]
    plan = plan_of(lonely)
    assert plan.impossible["storage_throughput", "n3"].reason is GateReason.NO_PARTNER
    partly = [storage_subject("n1", mounts=[MOUNT, home]), storage_subject("n2")]
    bad = [r for r in judged(partly, storage_records(("n1", "n2"))) if r.outcome not in SILENT]
    assert [(r.node, r.device, r.reason) for r in bad] == [("n1", "/home", GateReason.NO_EVIDENCE)]


def test_it_is_measured_at_full_width_only_and_nobody_is_searched_for() -> None:
    subjects = [storage_subject(name) for name in NAMES]
    assert not any(plan_of(subjects, "rack").steps.values())
    slow = case_records({"other": {"n1": {"flock": {"while_held": "granted"}}}}, NAMES)
    assert not plan_search(subjects, slow, "full", ["storage_throughput"], rung="", number=1).busy
    assert (GATE.default_levels, GATE.needs_floor) == (("full",), False)


def test_it_is_measured_again_without_a_node_unless_one_is_left() -> None:
    subjects = [storage_subject(name) for name in NAMES]
    steps = {name: [s.name.partition("@")[0] for s in own] for name, own in plan_of(subjects[1:], "rest").steps.items()}
    assert steps == {"n2": ["group.rest"], "n3": ["member.rest"]}
    alone = plan_of(subjects[2:], "rest")
    assert (any(alone.steps.values()), alone.impossible) == (False, {})


def test_a_run_directory_has_what_the_judge_reads_of_the_mounts() -> None:
    subjects = [
        storage_subject(name, mounts=[{**MOUNT, "options": ["ro", "password=x"]}, {**MOUNT, "name": "b", "source": "s:/b"}])
        for name in NAMES
    ]
    header = header_of("full", ["storage_throughput"], [s.node for s in subjects], [], impossible={}, pairs=None)
    stored = json.loads(json.dumps(header.to_json()))
    assert "password" not in json.dumps(stored)
    again = [subject_of(n, TODAY) for n in header_from(stored).stored_nodes()]
    assert [GATE.argv(s.profile.settings_of(GATE), "full", [s]) for s in again] == [
        GATE.argv(s.profile.settings_of(GATE), "full", [s]) for s in subjects
    ]
    records = storage_records(NAMES)
    assert [asdict(r) for r in judged(again, records)] == [asdict(r) for r in judged(subjects, records)]


def test_a_run_from_before_mounts_were_stored_can_be_read() -> None:
    stored = header_of("full", ["dcgm_diag"], [storage_subject("n1").node], [], impossible={}, pairs=None).to_json()
    old = {
        **stored,
        "profiles": {name: {k: v for k, v in own.items() if k != "storage_client"} for name, own in stored["profiles"].items()},
    }
    (one,) = header_from(json.loads(json.dumps(old))).stored_nodes()
    assert one.spec.roles["storage_client"] == {}


@given(st.integers(0, 1500), st.integers(0, 1500))
def test_what_is_not_a_whole_output_never_passes(begin: int, length: int) -> None:
    text = storage_output(0, 2)
    part = text[begin : begin + length]
    if part.strip() != text.strip():
        with pytest.raises(UnparsableError):
            parse_output("storage_throughput", part)


VALUES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers(), max_size=3)


@given(st.sampled_from(["write", "read", "other_read", "small_files", "flock", "seen", "head"]), st.data())
def test_a_value_of_another_kind_is_no_evidence_and_no_crash(phase: str, data: st.DataObject) -> None:
    text = storage_output(0, 2)
    lines = [json.loads(line) for line in text.splitlines()]
    line = next(one for one in lines if phase in (one.get("phase"), one.get("kind"), "head" if "schema_version" in one else ""))
    name = data.draw(st.sampled_from(sorted(set(line) - {"schema_version"})))
    line[name] = data.draw(VALUES)
    records = storage_records(("n1", "n2"), {"n1": "".join(json.dumps(one) + "\n" for one in lines)})
    results = judged([storage_subject(n) for n in ("n1", "n2")], records)
    assert not [r.detail for r in results if r.reason is GateReason.GATE_RAISED]


@pytest.mark.parametrize(
    "change",
    [
        {"phase": "write", "bytes": -1, "asked_bytes": 1, "duration_s": 1.0},
        {"phase": "write", "bytes": 2, "asked_bytes": 1, "duration_s": 1.0},
        {"phase": "write", "bytes": 1, "asked_bytes": 1, "duration_s": float("nan")},
        {"phase": "read", "bytes": 1, "asked_bytes": 10**400, "duration_s": 1.0},
        {"phase": "lock", "kind": "lease", "held": True, "while_held": "refused", "when_free": "granted"},
        {"phase": "lock", "kind": "flock", "held": 1, "while_held": "refused", "when_free": "granted"},
        {"phase": "lock", "kind": "flock", "held": True, "while_held": "maybe", "when_free": "granted"},
        {"phase": "swim"},
        {"phase": "swim", "error": "EIO", "detail": ""},
        {"schema_version": 1, "mount": "/m", "fstype": "nfs", "source": "s", "index": 2, "count": 2},
        [],
    ],
    ids=str,
)
def test_a_line_that_the_program_does_not_print(change: Any) -> None:
    head = "" if isinstance(change, dict) and "schema_version" in change else storage_output(0, 2, cut=1)
    with pytest.raises(ValueError, match=r"its|it |a time|a number|bytes|a line"):
        read_run(head + json.dumps(change) + "\n")


def test_a_phase_that_is_there_twice_is_no_evidence() -> None:
    text = storage_output(0, 2)
    for line in text.splitlines():
        with pytest.raises(ValueError, match="twice"):
            read_run(text + line + "\n")


def test_samples_of_a_node() -> None:
    found = [(s.metric, round(s.value, 2), s.unit, s.device) for s in parse_output("storage_throughput", storage_output(0, 2))]
    assert found == [
        ("write_bandwidth", 1.07, "GB/s", PATH),
        ("read_bandwidth", 2.15, "GB/s", PATH),
        ("file_creates", 500.0, "files/s", PATH),
        ("file_stats", 2000.0, "files/s", PATH),
        ("file_removes", 1000.0, "files/s", PATH),
        ("seen_round_trip", 0.04, "s", PATH),
    ]


def test_a_partner_is_measured_and_not_judged() -> None:
    subjects = [storage_subject("n1"), replace(storage_subject("n2"), partner=True)]
    assert {r.node for r in judged(subjects, storage_records(("n1", "n2")))} == {"n1"}
