from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.exit_codes import ExitCode
from clusterctl.healing import heal
from clusterctl.lifecycle import State
from clusterctl.provisioning.model import NodeResult, Result

if TYPE_CHECKING:
    from collections.abc import Sequence


class Provision:
    """A provisioning that remembers whom it was asked for; nodes in `bad` end in quarantine."""

    def __init__(self, *bad: str) -> None:
        self.bad = bad
        self.calls: list[tuple[tuple[str, ...], tuple[str, ...]]] = []

    def __call__(self, names: Sequence[str], partners: Sequence[str]) -> Result:
        self.calls.append((tuple(names), tuple(partners)))
        return Result("run-2", tuple(map(self.one, names)), 1.0)

    def one(self, name: str) -> NodeResult:
        if name in self.bad:
            return NodeResult(name, State.QUARANTINED, ExitCode.GATE_FAILED, "rdma_pair failed")
        return NodeResult(name, State.ADMITTED, ExitCode.OK)


def test_one_node_first_then_the_others() -> None:
    provision = Provision()
    healed, actions, code = heal(("n1", "n2", "n3"), ("n9",), provision)
    assert provision.calls == [(("n1",), ("n9",)), (("n2", "n3"), ("n9",))]
    assert (healed, code) == (("n1", "n2", "n3"), ExitCode.OK)
    assert {a["action"] for a in actions} == {"healed"}


def test_a_canary_that_fails_saves_the_others() -> None:
    provision = Provision("n1")
    healed, actions, code = heal(("n1", "n2"), (), provision)
    assert provision.calls == [(("n1",), ())]
    assert (healed, code) == ((), ExitCode.GATE_FAILED)
    assert [(a["node"], a["action"]) for a in actions] == [("n1", "not healed"), ("n2", "left")]
    assert "canary n1" in actions[1]["detail"]


def test_a_later_node_that_fails_is_told() -> None:
    healed, actions, code = heal(("n1", "n2", "n3"), (), Provision("n3"))
    assert (healed, code) == (("n1", "n2"), ExitCode.GATE_FAILED)
    assert [a["action"] for a in actions] == ["healed", "healed", "not healed"]


def test_without_partners_the_healed_canary_is_one() -> None:
    provision = Provision()
    heal(("n1", "n2"), (), provision)
    assert provision.calls[1] == (("n2",), ("n1",))


def test_nobody_to_heal_touches_nobody() -> None:
    provision = Provision()
    assert heal((), (), provision) == ((), [], ExitCode.OK)
    assert provision.calls == []


def test_a_run_that_left_the_canary_out_proves_nothing() -> None:
    def nothing(_names: Sequence[str], _partners: Sequence[str]) -> Result:
        return Result("run-2", (), 1.0)

    assert heal(("n1", "n2"), (), nothing)[2] is ExitCode.UNEXPECTED
