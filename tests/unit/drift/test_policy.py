from __future__ import annotations

import pytest

from clusterctl.core.drift.policy import Decisions, decide_actions, parse_policy
from clusterctl.model.drift import Deviation, DriftAction, DriftKind, DriftReport, Known
from clusterctl.model.state import State
from clusterctl_validators.finding import Severity


def deviation(kind: DriftKind = DriftKind.DRIFT, severity: Severity = Severity.MAJOR, node: str = "n1") -> Deviation:
    return Deviation(node, f"kernel.{kind}.{severity}", "kernel", kind, severity, "1", "0", "")


def decided(*deviations: Deviation, words: str, state: State = State.ADMITTED, heal: bool = True) -> Decisions:
    known = {n: Known(state, "d1") for n in ("n1", "n2")}
    return decide_actions(DriftReport(("n1", "n2"), deviations, ()), parse_policy(words), known, heal=heal)


def test_what_is_not_named_is_reported() -> None:
    assert parse_policy("critical=drain, major=heal") == {
        Severity.CRITICAL: DriftAction.DRAIN,
        Severity.MAJOR: DriftAction.HEAL,
        Severity.MINOR: DriftAction.REPORT,
        "link_flaps": DriftAction.REPORT,
    }
    assert set(parse_policy("").values()) == {DriftAction.REPORT}


@pytest.mark.parametrize(
    "words", ["major", "major=", "major=kill", "fatal=drain", "=drain", "major=heal=x", "link_flaps=heal", "link_flaps=", "link=drain"]
)
def test_words_that_are_no_policy(words: str) -> None:
    with pytest.raises(ValueError, match="SEVERITY=ACTION"):
        parse_policy(words)


def test_drift_alone_acts() -> None:
    for kind in (DriftKind.PENDING, DriftKind.UNKNOWN):
        assert decided(deviation(kind), words="major=drain") == Decisions((), (), {})
    assert decided(deviation(), words="major=drain").drain == ("n1",)


def test_a_drain_comes_before_a_heal() -> None:
    both = decided(deviation(), deviation(severity=Severity.CRITICAL), words="critical=drain,major=heal")
    assert (both.drain, both.heal) == (("n1",), ())


def test_nothing_is_healed_unless_the_operator_says_so() -> None:
    left = decided(deviation(), words="major=heal", heal=False)
    assert left.heal == ()
    assert "--heal" in left.left["n1"]


@pytest.mark.parametrize("kind", [DriftKind.PENDING, DriftKind.UNKNOWN])
def test_a_node_is_not_healed_where_that_would_do_more(kind: DriftKind) -> None:
    found = decided(deviation(), deviation(kind, Severity.MINOR), deviation(node="n2"), words="major=heal")
    assert found.heal == ("n2",)
    assert set(found.left) == {"n1"}


@pytest.mark.parametrize("state", [s for s in State if s is not State.ADMITTED])
def test_only_admitted_nodes_are_acted_on(state: State) -> None:
    for words in ("major=drain", "major=heal"):
        assert decided(deviation(), words=words, state=state) == Decisions((), (), {})


@pytest.mark.parametrize(("words", "drained"), [("link_flaps=drain", ("n2",)), ("critical=drain", ())])
def test_a_link_that_flaps_for_days_is_drained_where_the_policy_says_so(words: str, drained: tuple[str, ...]) -> None:
    known = {"n1": Known(State.DRAINED, "d1"), "n2": Known(State.ADMITTED, "d1")}
    report = DriftReport(("n1", "n2"), (deviation(node="n2"),), ())
    found = decide_actions(report, parse_policy(f"{words},major=heal"), known, heal=True, flapping={"n1", "n2"})
    assert found.flapping == drained
    assert found.heal == (() if drained else ("n2",))
