"""Reasons of Slurm: a leader of the site, a code for what was found, and drains that stay ours whatever the leader is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl.adapters.config import PoolDeclaration
from clusterctl.adapters.pools.base import LEADER, is_ours, signed
from clusterctl.adapters.pools.loader import check_pool
from clusterctl.adapters.pools.marking import Marker, Marking
from clusterctl.adapters.pools.slurm import SlurmPool, SlurmSettings
from clusterctl.adapters.pools.slurm_commands import LONGEST_REASON
from clusterctl.model.errors import ConfigError, PoolError
from clusterctl.model.state import State
from clusterctl.model.verdict import Reason, ReasonKind
from support.lossy_slurm import LossySlurm
from support.persons import drained_by_a_person
from support.provisioning import World
from support.roles import ROOT
from support.stores import fresh

if TYPE_CHECKING:
    from pathlib import Path

NAME = "r12-n01"
GATE = Reason(ReasonKind.GATE_FAILED, "rdma_pair mlx5_3: bandwidth 98 Gb/s, expected >= 180 Gb/s", device="mlx5_3", item="rdma_pair")


@pytest.fixture
def slurm(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LossySlurm:
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/usr/bin:/bin")
    return LossySlurm(tmp_path / "bin", ("r12-n01", "r12-n02", "r12-n03"))


def pool_of(tmp_path: Path, **settings: Any) -> SlurmPool:
    return SlurmPool.create(fresh(tmp_path / "state"), SlurmSettings(**settings))


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (GATE, "gate.rdma_pair"),
        (Reason(ReasonKind.GATE_MISSING, "x", item="nccl_group"), "gate.nccl_group"),
        (Reason(ReasonKind.CHECK_COULD_NOT_RUN, "x", item="hugepages.pages[1G].running"), "check.hugepages.pages[1G].running"),
        (Reason(ReasonKind.ROLE_FAILED, "x", item="ofed"), "role.ofed"),
        (Reason(ReasonKind.ROLE_FAILED, "the playbook was cancelled"), "role_failed"),
        (Reason(ReasonKind.UNREACHABLE, "x"), "unreachable"),
        (Reason(ReasonKind.PERSON, "x"), "person"),
        (Reason(ReasonKind.PERSON, "x", item="fan"), "person.fan"),
    ],
)
def test_a_code_names_what_was_found(found: Reason, code: str) -> None:
    assert found.code == code


def test_a_mark_replaces_our_reason_by_leader_code_and_part(slurm: LossySlurm, tmp_path: Path) -> None:
    pool = pool_of(tmp_path, reason_leader="[HC]")
    assert isinstance(pool, Marking)
    assert pool.mark(NAME, GATE)
    assert slurm.reason().startswith("[HC] gate.rdma_pair r12-n01:mlx5_3 (clusterctl ")
    assert not pool.mark(NAME, GATE), "Slurm would date it anew"
    assert pool.removed_since("2026-03-14T08:00:00") >= {NAME}


def test_a_mark_that_ends_with_a_quote_is_written_once(slurm: LossySlurm, tmp_path: Path) -> None:
    pool = pool_of(tmp_path)
    found = Reason(ReasonKind.PERSON, 'drained by ada: "fan 3"', item="fan")
    assert pool.mark(NAME, found)
    assert not pool.mark(NAME, found), "Slurm would date it anew, and the circuit breaker count it again"
    assert slurm.reason() == "clusterctl: person.fan r12-n01 drained by ada: 'fan 3'"
    found = Reason(ReasonKind.PERSON, "drained by ada: fan\n3", item="fan")
    assert pool.mark(NAME, found)
    assert not pool.mark(NAME, found)


def test_without_a_leader_of_the_site_reasons_begin_as_they_did(slurm: LossySlurm, tmp_path: Path) -> None:
    assert pool_of(tmp_path).mark(NAME, Reason(ReasonKind.ROLE_FAILED, "x", item="ofed"))
    assert slurm.reason() == "clusterctl: role.ofed r12-n01"


@pytest.mark.parametrize("later", ["clusterctl:", "[HC]", "HC:"])
@pytest.mark.parametrize("earlier", ["clusterctl:", "[HC]"])
def test_our_drain_stays_ours_when_the_leader_changes(slurm: LossySlurm, tmp_path: Path, earlier: str, later: str) -> None:
    assert pool_of(tmp_path, reason_leader="clusterctl:").admit(NAME, "x")
    assert pool_of(tmp_path, reason_leader=earlier).remove(NAME, "provisioning: 2 roles")
    pool = pool_of(tmp_path, reason_leader=later)
    assert slurm.reason().startswith(f"{earlier} provisioning: 2 roles")
    assert NAME in pool.removed_since("2026-03-14T08:00:00")
    assert pool.mark(NAME, GATE)
    assert slurm.reason().startswith(f"{later} gate.rdma_pair")
    assert pool.admit(NAME, "admitted by ada")
    assert NAME in slurm.members()


@pytest.mark.parametrize(
    "foreign",
    [
        "[HC] fan 3",
        "[HC] gate.rdma_pair r12-n01:mlx5_3",
        "[HC] gate.rdma_pair r12-n01:mlx5_3 (clusterctl 00000000)",
        "ada keeps it: " + signed("gate.rdma_pair r12-n01", "[HC]"),
        signed("gate.rdma_pair r12-n01", "[HC]") + ", ada keeps it",
        "(clusterctl )",
    ],
)
def test_what_others_write_behind_the_same_leader_is_not_ours(slurm: LossySlurm, tmp_path: Path, foreign: str) -> None:
    slurm.hold(NAME, foreign)
    pool = pool_of(tmp_path, reason_leader="[HC]")
    assert not pool.mark(NAME, GATE)
    assert not pool.remove(NAME, "provisioning")
    with pytest.raises(PoolError, match="by somebody else"):
        pool.admit(NAME, "x")
    assert slurm.reason() == foreign
    assert NAME not in pool.removed_since("2026-03-14T08:00:00")


def test_a_node_that_takes_jobs_is_not_marked(slurm: LossySlurm, tmp_path: Path) -> None:
    pool = pool_of(tmp_path)
    pool.admit(NAME, "x")
    assert not pool.mark(NAME, GATE)
    assert NAME in slurm.members()


@given(st.text(), st.sampled_from([LEADER, "[HC]", "HC:"]), st.integers(100, 500))
def test_whatever_the_reason_is_it_is_ours_and_not_too_long(reason: str, leader: str, longest: int) -> None:
    text = signed(reason, leader, longest)
    assert is_ours(text)
    assert len(text) <= max(longest, len(reason) if is_ours(reason) else 0)
    assert is_ours("".join(c if c.isprintable() else " " for c in text)), "as it is given to scontrol"
    assert signed(text, "HC:") == text


def test_the_reasons_that_the_page_shows_are_ours() -> None:
    lines = (ROOT / "docs/reference/configuration.md").read_text().splitlines()
    shown = [line for line in lines if line.startswith(("clusterctl: gate.", "[HC] gate."))]
    assert len(shown) == 2
    assert all(map(is_ours, shown))


def test_a_long_reason_keeps_its_signature(slurm: LossySlurm, tmp_path: Path) -> None:
    pool = pool_of(tmp_path, reason_leader="[HC]")
    pool.admit(NAME, "x")
    pool.remove(NAME, "ü" * 3 + "x" * 3000)
    assert len(slurm.reason()) == LONGEST_REASON
    assert pool.admit(NAME, "x")


@pytest.mark.parametrize(
    ("leader", "whose"),
    [
        ("NHC:", "Node Health Check"),
        ("slurm-operator:", "slurm-operator"),
        ("[node_problem]", "Soperator"),
        ("[hardware_problem]", "Soperator"),
    ],
)
def test_a_leader_whose_drains_another_program_ends_is_refused(leader: str, whose: str) -> None:
    """Their checks are no gates of ours: helpers/node-mark-online of mej/nhc, 9c4a38c0; IsNodeReasonOurs of SlinkyProject/slurm-operator, f2ed3fc5;
    findDegradedNodes of nebius/soperator, c238d993."""
    with pytest.raises(ConfigError, match=rf"pool\.reason_leader: .*{whose}"):
        check_pool(PoolDeclaration("slurm", {"reason_leader": leader}))


@pytest.mark.parametrize("leader", ["", "a b", '"HC"', "'HC'", "$(id)", "`id`", "HC=", "HC\n", "größe:", "x" * 33, "a,b", "a\\b"])
def test_a_leader_that_scontrol_or_a_shell_would_read_otherwise_is_refused(leader: str) -> None:
    with pytest.raises(ConfigError, match=r"pool\.reason_leader"):
        check_pool(PoolDeclaration("slurm", {"reason_leader": leader}))


def test_the_run_that_quarantines_a_node_says_in_slurm_what_was_found(slurm: LossySlurm, tmp_path: Path) -> None:
    world = World(tmp_path / "state", gate_fails={NAME}, pool=pool_of(tmp_path, reason_leader="[HC]"))
    world.run()
    assert world.states()[NAME] is State.QUARANTINED
    assert slurm.reason().startswith("[HC] gate.rdma_pair r12-n01")
    assert slurm.members() == {"r12-n02", "r12-n03"}


def test_a_mark_that_is_refused_ends_nothing(slurm: LossySlurm, tmp_path: Path) -> None:
    slurm.faults([{"of": "Reason=clusterctl: gate", "answer": "slurm_update error: Access/permission denied"}])
    world = World(tmp_path / "state", gate_fails={NAME}, pool=pool_of(tmp_path))
    world.run()
    assert world.states()[NAME] is State.QUARANTINED
    assert any("does not show what was found" in str(p) and "permission denied" in str(p) for p in world.progress)


def test_a_scheduler_that_does_not_answer_is_asked_once(slurm: LossySlurm, tmp_path: Path) -> None:
    slurm.faults([{"of": "show", "answer": "Unable to contact slurm controller", "times": 9}])
    marker = Marker(pool_of(tmp_path))
    assert "does not answer" in marker.mark(NAME, GATE)
    slurm.faults(())
    assert marker.mark("r12-n02", GATE) == ""
    assert slurm.reason("r12-n02") == "clusterctl: drained"


@pytest.mark.parametrize(("code", "shown"), [("", "person"), ("fan", "person.fan")])
def test_a_persons_drain_begins_with_a_code_as_findings_do(slurm: LossySlurm, tmp_path: Path, code: str, shown: str) -> None:
    pool = pool_of(tmp_path, reason_leader="[HC]")
    pool.admit(NAME, "x")
    drained_by_a_person(tmp_path / "state", pool, State.MAINTENANCE, code)
    assert slurm.reason().startswith(f"[HC] {shown} {NAME} maintenance by ada: new DIMMs (clusterctl ")
    assert pool.admit(NAME, "admitted by ada"), "it is ours"


def test_what_a_run_found_stays_when_a_person_takes_the_node_over(slurm: LossySlurm, tmp_path: Path) -> None:
    pool = pool_of(tmp_path)
    pool.mark(NAME, GATE)
    drained_by_a_person(tmp_path / "state", pool, State.MAINTENANCE, "fan")
    assert slurm.reason() == "clusterctl: gate.rdma_pair r12-n01:mlx5_3"


def test_a_person_who_says_what_is_broken_marks_the_node(slurm: LossySlurm, tmp_path: Path) -> None:
    pool = pool_of(tmp_path)
    pool.mark(NAME, GATE)
    drained_by_a_person(tmp_path / "state", pool, State.QUARANTINED, "fan")
    assert slurm.reason() == "clusterctl: person.fan r12-n01 quarantined by ada: new DIMMs"
