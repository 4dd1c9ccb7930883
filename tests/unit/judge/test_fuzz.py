"""The fuzzer itself: a short run finds nothing, and its oracles notice a reader that is wrong."""

from __future__ import annotations

from contextlib import suppress
from random import Random
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.parsers import TOOLS, known_tool
from fuzz import __main__ as fuzz
from fuzz.mutators import MUTATORS, NUMBER, mutate
from fuzz.targets import Target, all_targets
from support.gates import nccl, perftest

if TYPE_CHECKING:
    from collections.abc import Callable

TARGETS = all_targets()


def test_every_parser_is_a_target() -> None:
    assert {known_tool(t.name.removeprefix("parser ")) for t in TARGETS if t.name.startswith("parser ")} == set(TOOLS)


@pytest.mark.parametrize("number", range(len(TARGETS)), ids=[t.name for t in TARGETS])
def test_a_short_run_finds_nothing(number: int) -> None:
    tally = fuzz._run((number, 7, 0, 150))
    assert (tally.crashes, tally.wrong, tally.slow) == (0, 0, 0), tally.problems
    assert tally.inputs == {TARGETS[number].name: 150}


@pytest.mark.parametrize("target", TARGETS, ids=lambda t: t.name)
@pytest.mark.parametrize("digits", [20, 310, 5000], ids=["no database holds it", "no float holds it", "Python reads no such number"])
def test_a_number_of_any_length_is_read_or_refused(target: Target, digits: int) -> None:
    """The gate of a burn-in is judged for all nodes at once: what it raises for one node is no result of any."""
    for text in target.corpus[:3]:
        found = list(NUMBER.finditer(text))
        for one in found[:: len(found) // 20 + 1]:
            assert target.check(text[: one.start()] + "9" * digits + text[one.end() :]) == ""


@pytest.mark.parametrize("target", [t for t in TARGETS if t.name.startswith("judge")], ids=lambda t: t.name)
def test_every_run_of_a_judge_target_is_bad(target: Target) -> None:
    assert [target.check(text) for text in target.corpus] == [""] * len(target.corpus)


@pytest.mark.parametrize(("gate", "text"), [("nccl_node", nccl(477.0)), ("rdma_pair", perftest(392.0))])
def test_a_pass_is_told(gate: str, text: str, monkeypatch: pytest.MonkeyPatch) -> None:
    target = next(t for t in TARGETS if t.name == f"judge {gate}")
    if gate == "nccl_node":
        assert target.check(text) == "a bad run passed"
    monkeypatch.setattr(fuzz, "all_targets", lambda: [Target("reader", ["x"], lambda _text: "wrong")])
    assert fuzz._run((0, 1, 0, 3)).wrong == 3


def test_a_crash_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(_text: str) -> str:
        raise KeyError("time")

    monkeypatch.setattr(fuzz, "all_targets", lambda: [Target("reader", ["x"], crash)])
    tally = fuzz._run((0, 1, 0, 2))
    assert tally.crashes == 2
    assert tally.problems[0]["problem"] == "KeyError: 'time'"


def test_a_reader_that_never_ends_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(_text: str) -> str:
        while True:
            with suppress(Exception):
                len(_text)

    monkeypatch.setattr(fuzz, "_LONGEST_S", 0.1)
    monkeypatch.setattr(fuzz, "all_targets", lambda: [Target("reader", ["x"], endless)])
    tally = fuzz._run((0, 1, 0, 2))
    assert (tally.slow, tally.crashes, tally.problems[0]["problem"]) == (2, 0, "took 0.1 s, and was ended")


@pytest.mark.parametrize("mutator", MUTATORS, ids=lambda m: m.__name__)
def test_every_mutator_changes_something_and_takes_empty_text(mutator: Callable[[str, Random], str]) -> None:
    text = perftest(196.0) + nccl(300.0)
    assert any(mutator(text, Random(seed)) != text for seed in range(40))  # noqa: S311 repeatable
    assert isinstance(mutator("", Random(1)), str)  # noqa: S311 repeatable


def test_the_same_seed_gives_the_same_input() -> None:
    assert mutate(nccl(300.0), Random("1/x/5")) == mutate(nccl(300.0), Random("1/x/5"))  # noqa: S311 repeatable
