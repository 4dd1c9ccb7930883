"""training_proxy: what a group that trains together shows, whom it names, what is not evidence; and how it is planned."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.planning.gate_plan import plan_gates, plan_search
from clusterctl.core.gates.planning.step import BurnInPart
from clusterctl.core.gates.training_proxy import GATE
from clusterctl.core.parsers import UnparsableError, parse_output
from clusterctl.model.errors import GatesInvalidError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl_tools.training_proxy import read_run
from support.gates import CASES, REPAIR, SOURCE
from support.plain_yaml import load_yaml
from support.roles import ROOT
from support.training import training_output, training_records, training_subject

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult, RawRecord

EXAMPLES = load_yaml((CASES / "judge_training_proxy" / "cases.yml").read_text(encoding="utf-8"))
NAMES = ("n1", "n2", "n3")


def judged(subjects: Sequence[Subject], records: Sequence[RawRecord]) -> tuple[GateResult, ...]:
    return judge(subjects, records, level="full", gates=["training_proxy"])


def limits(case: Mapping[str, Any]) -> list[dict[str, Any]]:
    declared = case.get("limits", {}).items()
    return [
        {"gate": "training_proxy", "metric": metric, "kind": "upper_limit", "value": value, "unit": "ms", **SOURCE}
        for metric, value in declared
    ]


def case_records(case: Mapping[str, Any], names: Sequence[str], rung: str = "") -> list[RawRecord]:
    changed = case.get("record", {})
    outputs = {
        name: training_output(
            i, len(names), {**case.get("every", {}), **case.get("other", {}).get(name, {})}, cut=case.get("cut", {}).get(name)
        )
        for i, name in enumerate(names)
    }
    fields = {
        name: {**own, **({"error_code": GateReason(own["error_code"])} if "error_code" in own else {})}
        for name, own in changed.items()
        if own
    }
    stdout = {name: own.pop("stdout") for name, own in fields.items() if "stdout" in own}
    found = training_records(names, {**outputs, **stdout}, **fields)
    return [replace(r, step=r.step + rung) for r in found if changed.get(r.node, {}) is not None]


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    names = [f"n{i}" for i in range(1, case["nodes"] + 1)]
    subjects = [training_subject(name, baselines=limits(case), **case.get("settings", {})) for name in names]
    rest = case.get("rest", {})
    again = case_records({"other": {n: own or {} for n, own in rest.items()}}, list(rest), rung=".rest")
    records = [*case_records(case, names), *(r for r in again if rest[r.node] is not None)]
    results = judged(subjects, records)
    bad = [r for r in results if r.outcome is not Outcome.PASS]
    named = {words.partition(" ")[0] for words in case["results"]} - {"*"}
    every = [f"{name} {words[2:]}" for words in case["results"] if words.startswith("*") for name in names if name not in named]
    expected = [words for words in case["results"] if not words.startswith("*")] + every
    shown = [" ".join(filter(None, (r.node, r.device, r.outcome.value, r.rule, r.reason))) for r in bad]
    assert sorted(shown) == sorted(expected)
    assert {r.node for r in results} == set(names)
    assert all(r.hint for r in bad)
    assert all("{" not in r.hint for r in bad)
    assert not [r for r in bad if REPAIR.search(r.hint)]
    assert any(case.get("says", "") in r.detail for r in results)
    assert any(case.get("hint", "") in r.hint for r in results)


def test_a_pass_says_how_the_loss_fell_and_how_long_steps_took() -> None:
    outputs = {"n2": training_output(1, 3, {"whole1": {"compute": 21000}})}
    results = judged([training_subject(name) for name in NAMES], training_records(NAMES, outputs))
    assert {(r.node, r.outcome, r.rule, r.peers) for r in results} == {(n, Outcome.PASS, "training", NAMES) for n in NAMES}
    assert results[0].detail == (
        "loss 6.35 to 4.55 in 20 steps on 6 ranks; longest of all ranks, ms: step_time 26.21, step_time_p99 26.38, "
        "compute_time 21.21, compute_time_p99 21.38, communication_time 5, communication_time_p99 5"
    )


def test_the_upper_limit_of_the_page_of_gates_holds_for_its_number_of_nodes() -> None:
    page = (ROOT / "docs" / "reference" / "gates.md").read_text(encoding="utf-8")
    (block,) = [b for b in re.findall(r"^```yaml\n(.*?)^```", page, re.MULTILINE | re.DOTALL) if "gates_baselines_training" in b]
    declared = load_yaml(block)["gates_baselines_training"]
    for count, compared in ((15, set()), (16, {(60.0, Outcome.PASS)})):
        names = [f"n{i}" for i in range(1, count + 1)]
        results = judged([training_subject(name, baselines=declared) for name in names], training_records(names))
        assert {(r.limit, r.outcome) for r in results if r.metric == "step_time_p99"} == compared


def plan_of(subjects: Sequence[Subject], rung: str = "") -> Any:
    return plan_gates(subjects, "full", ["training_proxy"], BurnInPart.GROUP, rung)


def test_every_node_gets_its_ranks_and_the_first_one_waits_for_all() -> None:
    subjects = [training_subject(n, gpus=g, environment={"NCCL_IB_HCA": "mlx5"}) for n, g in (("n1", 2), ("n2", 4), ("n3", 2))]
    plan = plan_of(subjects)
    steps = {name: own[0] for name, own in plan.steps.items()}
    assert {len(own) for own in plan.steps.values()} == {1}
    assert [(s.name, s.timeout_s, s.exclusive) for s in steps.values()] == [
        ("group", 900, True),
        ("member", 900, True),
        ("member", 900, True),
    ]
    assert steps["n1"].peers == NAMES
    assert [name for name, _ in steps["n1"].members] == ["n2", "n3"]
    assert [(steps[n].peer, steps[n].peer_address, steps[n].peers) for n in ("n2", "n3")] == [("n1", steps["n1"].address, ())] * 2
    assert " ".join(steps["n3"].argv) == (
        "env CUDA_DEVICE_ORDER=PCI_BUS_ID NCCL_IB_HCA=mlx5 python3 training_proxy.py --address 10.0.0.1 --port 18700 --index 2 --nodes 3 "
        "--first-rank 6 --ranks 2 --world 8 --width 2048 --layers 2 --sequence 512 --batch 32 --steps 20 --kill-rank 1 --meet-s 120 --limit-s 900"
    )
    assert GATE.argv(subjects[0].profile.settings_of(GATE), "full", subjects) == steps["n1"].argv


def test_a_node_without_gpus_or_without_others_could_not_run() -> None:
    plan = plan_of([training_subject("n1"), training_subject("n2", gpus=0)])
    assert {name: plan.impossible["training_proxy", name].reason for name in ("n1", "n2")} == {
        "n1": GateReason.NO_PARTNER,
        "n2": GateReason.NO_DEVICE,
    }
    assert plan_of([training_subject("n1", gpus=0)]).impossible["training_proxy", "n1"].reason is GateReason.NO_DEVICE


def test_it_is_measured_at_full_width_only_and_nobody_is_searched_for() -> None:
    subjects = [training_subject(name) for name in NAMES]
    assert not any(plan_of(subjects, "rack").steps.values())
    slow = case_records({"other": {"n1": {"whole0": {"compute": 90000}}}}, NAMES)
    assert not plan_search(subjects, slow, "full", ["training_proxy"], rung="", number=1).busy
    assert not GATE.needs_floor


def test_it_is_measured_again_without_a_node_unless_one_is_left() -> None:
    subjects = [training_subject(name) for name in NAMES]
    steps = {name: [s.name for s in own] for name, own in plan_of(subjects[1:], "rest").steps.items()}
    assert steps == {"n2": ["group.rest"], "n3": ["member.rest"]}
    alone = plan_of(subjects[2:], "rest")
    assert (any(alone.steps.values()), alone.impossible) == (False, {})


def test_a_partner_is_measured_and_not_judged() -> None:
    subjects = [training_subject("n1"), replace(training_subject("n2"), partner=True)]
    assert {r.node for r in judged(subjects, training_records(("n1", "n2")))} == {"n1"}


@pytest.mark.parametrize(
    "setting",
    [
        {"steps": 19},
        {"steps": 501},
        {"width": 100},
        {"port": 65534},
        {"environment": {"nccl": "1"}},
        {"environment": {"A=B": "1"}},
        {"resume_tolerance": 1.0},
    ],
    ids=str,
)
def test_a_setting_that_makes_no_sense_is_refused(setting: dict[str, Any]) -> None:
    with pytest.raises(GatesInvalidError, match=next(iter(setting))):
        training_subject("n1", **setting)


def test_samples_of_a_node() -> None:
    found = [(s.metric, round(s.value, 2), s.unit, s.device) for s in parse_output("training_proxy", training_output(0, 2))]
    assert found[:4] == [
        ("step_time", 25.21, "ms", "gpu0"),
        ("step_time_p99", 25.38, "ms", "gpu0"),
        ("compute_time", 20.21, "ms", "gpu0"),
        ("compute_time_p99", 20.38, "ms", "gpu0"),
    ]
    assert len(found) == 12


@given(st.integers(0, 5000), st.integers(0, 5000))
def test_what_is_not_a_whole_output_never_passes(begin: int, length: int) -> None:
    text = training_output(0, 2)
    part = text[begin : begin + length]
    if part.strip() != text.strip():
        with pytest.raises(UnparsableError):
            parse_output("training_proxy", part)


VALUES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.lists(st.none() | st.integers() | st.floats(), max_size=20)
)


@given(st.integers(0, 4), st.data())
def test_a_value_of_another_kind_is_no_evidence_and_no_crash(number: int, data: st.DataObject) -> None:
    lines = [json.loads(line) for line in training_output(0, 2).splitlines()]
    name = data.draw(st.sampled_from(sorted(lines[number])))
    lines[number][name] = data.draw(VALUES)
    records = training_records(("n1", "n2"), {"n1": "".join(json.dumps(line) + "\n" for line in lines)})
    results = judged([training_subject(n) for n in ("n1", "n2")], records)
    assert not [r.detail for r in results if r.reason is GateReason.GATE_RAISED]


@given(st.permutations([0, 1, 2]), st.sampled_from(["finite", "weights", "slow"]), st.integers(0, 1))
def test_whoever_is_spoilt_is_the_only_suspect(order: list[int], how: str, gpu: int) -> None:
    bad = {"finite": {"bad_step": 4}, "weights": {"weights": "d"}, "slow": {"compute": 40000}}[how]
    names = [NAMES[i] for i in order]
    outputs = {names[1]: training_output(1, 3, {f"whole{gpu}": bad})}
    results = judged([training_subject(n) for n in names], training_records(names, outputs))
    assert {r.outcome for r in results} == {Outcome.COULD_NOT_RUN}
    assert {(r.node, r.device) for r in results if r.reason is not GateReason.GROUP_SPOILED} == {(names[1], f"gpu{gpu}")}
    assert all(r.detail.endswith(f"suspect: {names[1]} gpu{gpu}") for r in results)


GOOD = training_output(0, 2)
HEAD, RANK = (json.loads(line) for line in GOOD.splitlines()[:2])
PLACE = {"line": "place", "run": "whole", "rank": 0, "gpu": 0, "step": 3, "phase": "compute", "status": None}
ERROR = {"line": "error", "run": "whole", "rank": 0, "error": "NCCL", "missing": []}


@pytest.mark.parametrize(
    "lines",
    [
        [RANK],
        [HEAD, HEAD],
        [HEAD, RANK, RANK],
        [{**HEAD, "index": 2}],
        [{**HEAD, "first_rank": 3}],
        [{**HEAD, "steps": True}],
        [HEAD, {"line": "swim"}],
        [HEAD, {"line": ["rank"]}],
        [HEAD, {**RANK, "rank": 2}],
        [HEAD, {**RANK, "run": "other"}],
        [HEAD, {**RANK, "start": 1}],
        [
            HEAD,
            {
                **RANK,
                "start": 10,
                "losses": RANK["losses"][10:],
                "compute_us": RANK["compute_us"][10:],
                "communicate_us": RANK["communicate_us"][10:],
            },
        ],
        [HEAD, {**RANK, "losses": RANK["losses"][:-1]}],
        [HEAD, {**RANK, "losses": [*RANK["losses"][:-1], float("nan")]}],
        [HEAD, {**RANK, "losses": [*RANK["losses"][:-1], "6.0"]}],
        [HEAD, {**RANK, "compute_us": [*RANK["compute_us"][:-1], -1]}],
        [HEAD, {**RANK, "communicate_us": [*RANK["communicate_us"][:-1], 1.5]}],
        [HEAD, {**RANK, "bad_step": -1}],
        [HEAD, {**RANK, "weights": "A" * 64}],
        [HEAD, {**RANK, "probes": ["b" * 63]}],
        [HEAD, {**RANK, "kind": []}],
        [HEAD, {**RANK, "kind": [""]}],
        [HEAD, {**RANK, "kind": "H100"}],
        [HEAD, {**PLACE, "phase": "sleep"}],
        [HEAD, {**PLACE, "status": "0"}],
        [HEAD, {**PLACE, "rank": 7}],
        [HEAD, {**ERROR, "missing": [True]}],
        [HEAD, {**ERROR, "error": 3}],
        [HEAD, {"line": "problem", "problem": "hangs"}],
        [HEAD, []],
    ],
    ids=lambda lines: json.dumps(lines[-1])[:60],
)
def test_a_line_that_the_program_does_not_print(lines: list[Any]) -> None:
    with pytest.raises(ValueError, match=r"it |its |a text|a number|a loss|a digest|one of its|a line"):
        read_run("".join(json.dumps(line) + "\n" for line in lines))
