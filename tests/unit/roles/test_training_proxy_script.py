"""training_proxy.py with processes as nodes and ranks on CPUs, over gloo: what it prints, whom it names, and that nothing of it stays."""

from __future__ import annotations

import socket
import sys
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.training_outputs import waited_for, waited_text
from clusterctl.core.gates.planning.gate_plan import plan_gates
from clusterctl.core.gates.planning.step import BurnInPart
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import Outcome
from clusterctl_tools import training_proxy
from clusterctl_tools.training_proxy import NodePart
from support.agents import AgentNode, address_of, program
from support.ports import free_port
from support.training import LOAD, TrainingNode, torch_python, training_records, training_subject

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from clusterctl_tools.training_proxy import TrainingRun

needs_torch = pytest.mark.skipif(
    not torch_python(),
    reason="no PyTorch: name an interpreter that has it in CLUSTERCTL_TORCH_PYTHON (`pip install torch` in a venv of its own)",
)
PARTS = (NodePart(0, 2, 0, 2, 4), NodePart(1, 2, 2, 2, 4))
ONCE = LOAD._replace(kill_rank=False)
COMPUTE = "finite = gradients.compute(batch)"
UPDATE = "optimizer.step()"


def group(
    tmp_path: Path, patch: Mapping[str, str], load: training_proxy.TrainingLoad = ONCE, parts: tuple[NodePart, ...] = PARTS
) -> list[tuple[int, str, TrainingRun]]:
    port = free_port()
    nodes = [TrainingNode(tmp_path, part, port, load, patch=patch) for part in parts]
    return [(status, text, training_proxy.read_run(text)) for status, text in (n.end() for n in nodes)]


def on_rank(rank: int, code: str, step: int = 5) -> str:
    return f"if options.rank == {rank} and step >= {step}:\n            {code}\n        "


@needs_torch
def test_agents_run_the_planned_steps_and_a_killed_rank_resumes_bit_for_bit(tmp_path: Path) -> None:
    settings: dict[str, Any] = {
        "program": torch_python(),
        "environment": {"GLOO_SOCKET_IFNAME": "lo"},
        "port": free_port(),
        "resume_tolerance": 0.0,
    }
    shape: dict[str, Any] = {
        "width": 256,
        "layers": 1,
        "sequence": 32,
        "batch": 16,
        "steps": 24,
        "loss_falls_percent": 2.0,
        "slower_percent": 99.0,
        "meet_s": 60,
    }
    subjects = [training_subject(n, host=address_of(n), gpus=1, **settings, **shape) for n in ("n1", "n2")]
    planned = plan_gates(subjects, "full", ["training_proxy"], BurnInPart.GROUP).steps
    port = free_port()
    agents = []
    for name, (step, *_) in planned.items():
        own = {**asdict(step), "exclusive": False, "timeout_s": 240, "argv": [*step.argv, "--device", "cpu"]}
        agents.append(AgentNode(tmp_path, name, port, [own], limit_s=250).start())
    records = [record for one in agents for record in one.end(240).values()]
    results = judge(subjects, records, level="full", gates=["training_proxy"])
    assert [(r.node, r.outcome, r.rule) for r in results] == [(n, Outcome.PASS, "training") for n in ("n1", "n2")], results
    assert "in 24 steps on 2 ranks" in results[0].detail
    assert all(r.tool_version.startswith("PyTorch ") for r in records)
    runs = [training_proxy.read_run(r.stdout) for r in records]
    whole, resumed = ([rank for run in runs for rank in run.of(name)] for name in (training_proxy.WHOLE, training_proxy.RESUMED))
    assert (len(whole), len(resumed)) == (2, 2)
    assert {rank.losses[12:] for rank in whole} == {rank.losses for rank in resumed}
    assert {rank.weights for rank in (*whole, *resumed)} == {whole[0].weights}


@needs_torch
def test_a_rank_that_is_slow_and_one_whose_weights_change_are_named(tmp_path: Path) -> None:
    slow = on_rank(2, "time.sleep(0.3)", step=0)
    spoilt = on_rank(1, "gradients.model[0].weight.data[0, 0] += 1e-3 * (step == 5)")
    found = group(tmp_path, {COMPUTE: slow + COMPUTE, UPDATE: f"{UPDATE}\n        {spoilt.rstrip()}"})
    assert [status for status, _, _ in found] == [0, 0]
    subjects = [training_subject(n, kill_rank=False, slower_percent=90.0) for n in ("n1", "n2")]
    records = training_records(("n1", "n2"), dict(zip(("n1", "n2"), (text for _, text, _ in found), strict=True)))
    results = judge(subjects, records, level="full", gates=["training_proxy"])
    # So few steps may raise the loss of so small a model.
    assert {(r.rule, r.detail.partition("suspect: ")[2]) for r in results if r.rule != "loss"} == {
        ("equal", "n1 gpu1"),
        ("slow_rank", "n2 gpu0"),
    }


@needs_torch
def test_a_checkpoint_that_is_not_all_of_the_state_is_seen(tmp_path: Path) -> None:
    patch = {'optimizer.load_state_dict(state["optimizer"])': "pass"}
    found = group(tmp_path, patch, LOAD, (NodePart(0, 2, 0, 1, 2), NodePart(1, 2, 1, 1, 2)))
    records = training_records(("n1", "n2"), dict(zip(("n1", "n2"), (text for _, text, _ in found), strict=True)))
    subjects = [training_subject(n, gpus=1, resume_tolerance=0.0) for n in ("n1", "n2")]
    results = judge(subjects, records, level="full", gates=["training_proxy"])
    found_in = [(r.node, r.rule, r.reason) for r in results if r.rule != "loss"]
    assert found_in == [(n, "resume", GateReason.RESUME_DIFFERS) for n in ("n1", "n2")]


@needs_torch
def test_gradients_that_are_not_finite_are_those_of_one_rank(tmp_path: Path) -> None:
    found = group(
        tmp_path,
        {
            "if not finite": "if (options.rank, step) == (3, 5):\n            gradients.buffer.fill_(math.inf)\n            finite = False\n        if not finite"
        },
    )
    bad = {rank.rank: rank.bad_step for _, _, run in found for rank in run.of(training_proxy.WHOLE)}
    assert bad == {0: 6, 1: 6, 2: 6, 3: 5}
    assert {rank.losses[5:] for _, _, run in found for rank in run.of(training_proxy.WHOLE)} == {(None,) * 15}


@needs_torch
@pytest.mark.parametrize(
    ("what", "status", "problem", "ended"),
    [("time.sleep(1000)", training_proxy.HANGS, "hangs", None), ("os._exit(9)", training_proxy.FAILED, "failed", 9)],
)
def test_a_rank_that_hangs_or_dies_is_where_the_others_are_not(
    tmp_path: Path, what: str, status: int, problem: str, ended: int | None
) -> None:
    found = group(tmp_path, {COMPUTE: on_rank(3, what) + COMPUTE}, ONCE._replace(limit_s=45))
    assert [(s, run.problem, run.ended) for s, _, run in found] == [(status, problem, False)] * 2
    assert {p.rank: p.status for _, _, run in found for p in run.places}[3] == ended
    behind = waited_for({f"n{run.part.number + 1}": run for _, _, run in found})
    assert waited_text(behind) == "n2 gpu1 stood in phase compute of step 5 while most others were further"


@needs_torch
def test_ranks_that_never_come_are_named_by_the_first(tmp_path: Path) -> None:
    status, text = TrainingNode(tmp_path, PARTS[0], free_port(), ONCE._replace(meet_s=4)).end()
    run = training_proxy.read_run(text)
    assert (status, run.problem, {p.phase for p in run.places}) == (training_proxy.ALONE, "alone", {"meet"})
    assert {e.rank: e.missing for e in run.errors}[0] == (2, 3)


@needs_torch
def test_a_first_node_that_never_comes_is_named(tmp_path: Path) -> None:
    status, text = TrainingNode(tmp_path, PARTS[1], free_port(), ONCE._replace(meet_s=4)).end()
    run = training_proxy.read_run(text)
    assert (status, run.problem, {e.missing for e in run.errors}) == (training_proxy.ALONE, "alone", {(0,)})


@needs_torch
def test_a_gpu_that_cannot_be_used_is_no_absence(tmp_path: Path) -> None:
    """One rank fails before it meets the others, which then wait in vain for it."""
    patch = {
        'place.at(options.start, "meet")': 'if options.local:\n        raise RuntimeError("no such device")\n    place.at(options.start, "meet")'
    }
    status, text = TrainingNode(tmp_path, PARTS[0], free_port(), ONCE._replace(meet_s=60), patch=patch).end()
    run = training_proxy.read_run(text)
    assert (status, run.problem, [(e.rank, e.error) for e in run.errors]) == (training_proxy.FAILED, "failed", [(1, "no such device")])


def test_an_interpreter_without_pytorch_says_so(tmp_path: Path) -> None:
    patch = {"import torch  # noqa": "import no_such_torch as torch  # noqa"}
    status, text = TrainingNode(tmp_path, PARTS[0], free_port(), patch=patch, program=sys.executable).end()
    run = training_proxy.read_run(text)
    assert (status, run.problem, len(run.errors)) == (training_proxy.NO_TORCH, "no_torch", 2)


def test_a_port_that_is_taken_is_named(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = int(taken.getsockname()[1])
        status, text = TrainingNode(tmp_path, PARTS[0], port, program=sys.executable).end()
    run = training_proxy.read_run(text)
    assert (status, run.problem, str(port) in run.detail, run.places) == (training_proxy.PORT_TAKEN, "port_taken", True, ())


def test_script_and_tool_agree() -> None:
    script, tool = program("training_proxy"), training_proxy
    names = ("NO_TORCH", "FAILED", "ALONE", "PORT_TAKEN", "HANGS")
    assert [getattr(script, name) for name in names] == [getattr(tool, name) for name in names]
    rank = program("training_rank")
    assert (rank.NO_TORCH, rank.FAILED, rank.ALONE) == (tool.NO_TORCH, tool.FAILED, tool.ALONE)
    assert program("training_places").PHASES == tool.PHASES
    options = type("Options", (), {"steps": 100, "kill_rank": 1})
    assert [s.name for s in script.starts_of(options)] == [tool.WHOLE, tool.KILLED, tool.RESUMED]
    assert len(script.starts_of(options)) == tool.STARTS
