from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.plan_file import read_plan
from clusterctl.core.plan import plan_body
from clusterctl.model.errors import ConfigError, PlanChangedError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.findings import NodeStatus
from clusterctl.model.state import State
from clusterctl.terminal.out import envelope
from support.plans import plan_of
from support.provisioning import World, node

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

N1, N2, N3 = NAMES = ("r12-n01", "r12-n02", "r12-n03")


@pytest.fixture
def world(tmp_path: Path) -> World:
    return World(tmp_path, bad={n: {"kernel"} for n in NAMES})


def planned(world: World, *names: str) -> Path:
    nodes = [node(n, world.digest) for n in names or NAMES]
    body = {"run_id": "r", "target": "rack-12", **plan_body(plan_of(world.validate(nodes)), {n.name: n.spec.digest for n in nodes})}
    file = world.state_dir / "plan.json"
    file.write_text(json.dumps(envelope("plan", body)))
    world.calls.clear()
    return file


def test_what_was_agreed_is_done(world: World) -> None:
    world.saved_plan = read_plan(planned(world))
    assert world.saved_plan.target == "rack-12"
    assert world.run().exit_code is ExitCode.OK
    assert world.states() == dict.fromkeys(NAMES, State.ADMITTED)


def test_a_part_of_what_was_agreed_is_done(world: World) -> None:
    world.saved_plan = read_plan(planned(world))
    assert world.run(N1, N2).exit_code is ExitCode.OK


def other_check(world: World) -> None:
    world.bad[N2] = {"kernel", "hugepages"}


def repaired(world: World) -> None:
    world.bad[N2] = set()


def other_spec(world: World) -> None:
    world.digest = "d2"


def away(world: World) -> None:
    world.lost[N2] = NodeStatus.UNREACHABLE


@pytest.mark.parametrize(
    ("move", "told"),
    [
        (other_check, "r12-n02: hugepages.value.running: found 0, expected 1; in the plan: is as declared"),
        (repaired, "r12-n02: kernel.value.running: is as declared; in the plan: found 0, expected 1"),
        (other_spec, "r12-n01, r12-n02, r12-n03: the declared state was changed"),
        (away, "r12-n02: unreachable; in the plan: ok"),
    ],
)
def test_a_world_that_moved_is_left_alone(world: World, move: Callable[[World], None], told: str) -> None:
    world.saved_plan = read_plan(planned(world))
    move(world)
    with pytest.raises(PlanChangedError) as caught:
        world.run()
    assert told in str(caught.value)
    assert "clusterctl plan rack-12 --out" in caught.value.hint
    assert [what for what, _ in world.calls] == ["validate"], "no node was touched"
    assert set(world.states().values()) == {State.REGISTERED}


def test_a_node_that_the_plan_does_not_name_is_left_alone(world: World) -> None:
    world.saved_plan = read_plan(planned(world, N1, N2))
    with pytest.raises(PlanChangedError, match=f"{N3}: not in the plan"):
        world.run()


def test_nodes_that_changed_alike_are_one_line_each_change(world: World) -> None:
    many = tuple(f"r12-n{number:02d}" for number in range(1, 13))
    world.names, world.bad = many, {}
    world.saved_plan = read_plan(planned(world, *many))
    world.bad = {n: {"kernel", "hugepages"} for n in many}
    with pytest.raises(PlanChangedError) as caught:
        world.run()
    _, *lines = str(caught.value).splitlines()
    assert lines == [
        f"  12 nodes (r12-n01, r12-n02, r12-n03, r12-n04, ...): {role}.value.running: found 0, expected 1; in the plan: is as declared"
        for role in ("hugepages", "kernel")
    ]


GOOD: dict[str, Any] = {"kind": "plan", "schema_version": 1, "target": "rack-12", "nodes": []}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"kind": "plan"',
        json.dumps(GOOD | {"kind": "plan_ansible"}),
        json.dumps(GOOD | {"schema_version": 2}),
        json.dumps(GOOD | {"nodes": [{"name": "n1"}]}),
        json.dumps(GOOD | {"nodes": [{"name": "n1", "status": "ok", "spec_digest": "d", "changes": None}]}),
        json.dumps(GOOD | {"nodes": 3}),
    ],
)
def test_what_is_no_plan_is_refused(text: str, tmp_path: Path) -> None:
    file = tmp_path / "plan.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"plan\.json") as caught:
        read_plan(file)
    assert "--out" in caught.value.hint


def test_a_plan_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="No such file"):
        read_plan(tmp_path / "plan.json")
