from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.core.reboot_budget import most_turns
from clusterctl.model.exit_codes import ExitCode
from support.provisioning import World

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.ansible.runner import PlaybookRequest


@pytest.mark.parametrize(
    ("budget", "nodes", "turns"),
    [("50%", 6, 2), ("50%", 5, 3), ("50%", 1, 1), ("1%", 6, 6), ("100%", 18, 1), ("1", 6, 6), ("4", 18, 5), ("99", 3, 1)],
)
def test_turns(budget: str, nodes: int, turns: int) -> None:
    assert most_turns(budget, nodes) == turns


def asked(world: World, monkeypatch: pytest.MonkeyPatch, *ansible_args: str, budget: str = "") -> PlaybookRequest:
    """The request of the run's reboot."""
    seen: list[PlaybookRequest] = []
    play, make = world.play, world.context

    def watch(request: PlaybookRequest, *args: object, **more: object) -> object:
        seen.append(request)
        return play(request, *args, **more)  # type: ignore[arg-type]

    def with_budget(*args: object) -> object:
        context = make(*args)  # type: ignore[arg-type]
        context.reboot_budget = budget or context.reboot_budget
        return context

    monkeypatch.setattr(world, "play", watch)
    monkeypatch.setattr(world, "context", with_budget)
    assert world.run(ansible_args=ansible_args).exit_code is ExitCode.OK
    return next(r for r in seen if r.playbook == "reboot.yml")


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    made.bad = {n: {"kernel"} for n in made.names}
    made.reboot = {"kernel"}
    return made


def test_half_of_a_rack_at_once_unless_the_site_says_otherwise(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    request = asked(world, monkeypatch)
    assert "reboot_budget=50%" in request.extra_args
    assert "provision_out_of_pool=true" in request.extra_args, "it took the nodes out of the pool itself"
    assert request.timeout_s == 3 * 3600


def test_the_sites_budget_is_handed_on(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    request = asked(world, monkeypatch, budget="3")
    assert "reboot_budget=3" in request.extra_args
    assert request.timeout_s == 3600


def test_what_the_operator_types_wins(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    words = asked(world, monkeypatch, "-e", "reboot_budget=1").extra_args
    assert words.index("reboot_budget=1") > words.index("reboot_budget=50%"), "Ansible takes the last"
