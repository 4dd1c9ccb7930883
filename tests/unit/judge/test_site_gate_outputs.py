"""What a site's gate may do with an output: whatever it is, a pass needs finite numbers, and no exception ends the judge of other nodes."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

import pytest

from clusterctl.core.gates import registry
from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.judging.reading import read_record
from clusterctl.core.gates.subject import subject_of
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome, Sample
from clusterctl.model.level import LEVELS
from support.gates import TODAY, gates, node, record
from support.site_gate import FAN_FLOOR, Fans, FanSettings

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

GOOD = '{"fan1": 9500, "fan2": 9600}'
NO_NUMBERS = ["NaN", "-NaN", "Infinity", "-Infinity", "1e999", '"nan"', '"inf"', '"-Infinity"']


@pytest.fixture(autouse=True)
def own_registry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_gates", dict(registry._gates))


def judged(gate: Fans, texts: Mapping[str, str], **more: Any) -> dict[str, Sequence[GateResult]]:
    registry._gates.pop(gate.name, None)
    registry.register(gate)
    declared = gates(gates_levels={level: [gate.name] for level in LEVELS}, gates_baselines=[dict(FAN_FLOOR)])
    subjects = [subject_of(node(n, declared=declared), TODAY) for n in texts]
    found = judge(subjects, [record(gate.name, n, text, **more) for n, text in texts.items()], level="standard", gates=[gate.name])
    return {n: [r for r in found if r.node == n] for n in texts}


@pytest.mark.parametrize("value", NO_NUMBERS)
def test_no_number_is_no_pass(value: str) -> None:
    for text in (f'{{"fan1": {value}}}', f'{{"fan1": 9500, "fan2": {value}}}'):
        found = judged(Fans(), {"n1": text, "n2": GOOD})
        assert {r.outcome for r in found["n1"]} == {Outcome.COULD_NOT_RUN}
        assert {r.reason for r in found["n1"]} == {GateReason.UNPARSABLE}
        assert {r.outcome for r in found["n2"]} == {Outcome.PASS}


@pytest.mark.parametrize(
    "text", ["[]", "null", "7", '"fans"', '{"fan1": null}', '{"fan1": []}', "[" * 5000, "", "{}", '{"fan1": {"rpm": 9500}}']
)
def test_an_output_of_another_shape_could_not_run_and_ends_nothing(text: str) -> None:
    found = judged(Fans(), {"n1": text, "n2": GOOD})
    assert {r.outcome for r in found["n1"]} == {Outcome.COULD_NOT_RUN}
    assert all(r.reason in (GateReason.UNPARSABLE, GateReason.GATE_RAISED) and r.hint for r in found["n1"])
    assert {r.outcome for r in found["n2"]} == {Outcome.PASS}


def test_an_exception_is_told_with_the_gate_and_its_type() -> None:
    (result,) = judged(Fans(), {"n1": "[]"})["n1"]
    assert result.reason is GateReason.GATE_RAISED
    assert "site_fans" in result.detail
    assert "AttributeError: 'list' object has no attribute 'items'" in result.detail
    assert "code" in result.hint


def test_a_failed_command_is_the_reason_before_what_its_output_raises() -> None:
    (result,) = judged(Fans(), {"n1": "null"}, exit_status=3)["n1"]
    assert result.reason is GateReason.EXIT_STATUS


class Broken(Fans):
    """One hook raises."""

    hook: ClassVar[str] = ""

    def __getattribute__(self, name: str) -> Any:
        if name == type(self).hook:
            raise KeyError(name)
        return super().__getattribute__(name)


def broken(name: str) -> Broken:
    gate: Broken = type("BrokenIn" + name.title(), (Broken,), {"hook": name})()
    return gate


@pytest.mark.parametrize("hook", ["samples", "output_of", "verdicts", "limits_of", "judge", "hint", "last_line", "failure_reason"])
def test_any_hook_that_raises_is_could_not_run(hook: str) -> None:
    more = {"exit_status": 1} if hook in ("last_line", "failure_reason") else {}
    low = '{"fan1": 100}'
    found = judged(broken(hook), {"n1": low, "n2": low}, **more)
    for results in found.values():
        assert {r.outcome for r in results} == {Outcome.COULD_NOT_RUN}
        assert "KeyError" in results[0].detail or results[0].reason is GateReason.EXIT_STATUS


def test_another_gate_is_judged_beside_one_that_raises() -> None:
    registry.register(broken("judge"))
    levels = {level: ["site_fans", "dcgm_diag"] for level in LEVELS}
    subject = subject_of(node("n1", declared=gates(gates_levels=levels, gates_baselines=[dict(FAN_FLOOR)])), TODAY)
    records = [record("site_fans", "n1", GOOD), record("dcgm_diag", "n1", "x")]
    found = judge([subject], records, level="standard", gates=["site_fans", "dcgm_diag"])
    assert {r.gate: r.reason for r in found} == {"site_fans": GateReason.GATE_RAISED, "dcgm_diag": GateReason.UNPARSABLE}


class Liar(Fans):
    """Gives what is not a result of its own."""

    results: ClassVar[Any] = ()

    def judge(self, evidence: Any) -> Any:
        return self.results


def liars() -> Iterator[Any]:
    own = GateResult("site_fans", "n1", Outcome.PASS, "floor")
    yield from (None, 7, [None], ["pass"], [replace(own, gate="another")], [replace(own, value=float("nan"))])


@pytest.mark.parametrize("results", list(liars()), ids=str)
def test_results_that_are_none_are_no_pass(results: Any) -> None:
    found = judged(type("LiarOf", (Liar,), {"results": results})(), {"n1": GOOD})
    assert {(r.outcome, r.reason) for r in found["n1"]} == {(Outcome.COULD_NOT_RUN, GateReason.GATE_RAISED)}


@pytest.mark.parametrize("found", [None, [None], ["speed"], [Sample("speed", "9500", "rpm")]])  # type: ignore[arg-type]
def test_samples_that_are_none_are_no_evidence(found: Any) -> None:
    gate = type("SamplesOf", (Fans,), {"samples": lambda _self, _text: found})()
    reading = read_record(gate, record("site_fans", "n1", GOOD))
    assert (reading.samples, reading.reason) == ((), GateReason.GATE_RAISED)


def test_samples_may_come_one_by_one() -> None:
    gate = type("LazyFans", (Fans,), {"samples": lambda _self, text: (s for s in Fans().samples(text))})()
    assert {r.outcome for r in judged(gate, {"n1": GOOD})["n1"]} == {Outcome.PASS}


def test_the_settings_of_the_test_gate_are_used() -> None:
    assert FanSettings().seconds == 5
