"""`clusterctl announce`: a notice is recorded, moved, cancelled and listed; wrong input is refused with what to do, and changes nothing."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from clusterctl import main
from clusterctl.adapters import clock
from clusterctl.adapters.store import sqlite_reader
from clusterctl.core.timestamps import after
from clusterctl.model.state import State
from support.roles import ROOT
from support.stores import a_node, bring, fresh

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from clusterctl.adapters.store import Store

NOTICES, STATUS = (
    Draft202012Validator(json.loads((ROOT / f"docs/reference/schemas/{kind}.schema.json").read_text())) for kind in ("notices", "status")
)
BEGINS, LATER, ENDS, PAST = (after(clock.now(), days * 86_400) for days in (1, 2, 3, -1))
WHEN = ("--begins", BEGINS, "--ends", ENDS)
WHY = ("--reason", "new switch")


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    """Three nodes of which one is retired."""
    (tmp_path / "clusterctl.yml").write_text("operator: ada\n")
    for name in ("CONFIG", "STATE_DIR", "DATABASE_URL", "OPERATOR"):
        monkeypatch.delenv(f"CLUSTERCTL_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    with fresh(tmp_path / ".clusterctl") as opened:
        opened.register([a_node(f"r12-n0{i}", slot=i) for i in (1, 2, 3)])
        bring(opened, "r12-n03", State.RETIRED)
        yield opened


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> list[dict[str, Any]]:
    assert main.call(["announce", *argv, "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    NOTICES.validate(data)
    found: list[dict[str, Any]] = data["notices"]
    return found


@pytest.mark.usefixtures("store")
def test_a_notice_from_its_announcement_to_its_end(capsys: pytest.CaptureFixture[str]) -> None:
    (first,) = call(capsys, "rack-12", *WHEN, *WHY)
    assert {k: v for k, v in first.items() if k != "changed_at"} == {
        "id": 1,
        "state": "planned",
        "target": "rack-12",
        "nodes": ["r12-n01", "r12-n02"],
        "begins_at": BEGINS,
        "ends_at": ENDS,
        "reason": "new switch",
        "operator": "ada",
    }
    (moved,) = call(capsys, "--move", "1", "--begins", LATER)
    assert (moved["state"], moved["begins_at"], moved["ends_at"], moved["reason"]) == ("moved", LATER, ENDS, "new switch")
    assert call(capsys) == [moved]
    (cancelled,) = call(capsys, "--cancel", "1", "--reason", "no spare")
    assert (cancelled["state"], cancelled["reason"]) == ("cancelled", "no spare")
    assert call(capsys) == []
    assert call(capsys, "--all") == [cancelled]


@pytest.mark.usefixtures("store")
def test_a_time_is_converted_to_utc(capsys: pytest.CaptureFixture[str]) -> None:
    (found,) = call(capsys, "r12-n01", "--begins", "2999-12-01T22:00+01:00", "--ends", "2999-12-02 02:30:00-05:00", *WHY)
    assert (found["begins_at"], found["ends_at"]) == ("2999-12-01T21:00:00.000000Z", "2999-12-02T07:30:00.000000Z")


REFUSED: dict[str, tuple[tuple[str, ...], int, str]] = {
    "end before the beginning": (("r12-n01", "--begins", ENDS, "--ends", BEGINS, *WHY), 2, "is not after the beginning"),
    "beginning in the past": (("r12-n01", "--begins", PAST, "--ends", ENDS, *WHY), 2, "drain TARGET --to maintenance"),
    "unknown node": (("r12-n09", *WHEN, *WHY), 3, "no recorded node matches 'r12-n09'"),
    "empty target": (("", *WHEN, *WHY), 2, "the word after announce is empty"),
    "target of nothing": ((",", *WHEN, *WHY), 3, "no recorded node matches ','"),
    "target without a node left": (("r12-n01,!r12-n01", *WHEN, *WHY), 3, "no recorded node matches"),
    "retired nodes alone": (("r12-n03", *WHEN, *WHY), 2, "all nodes of the target are away: r12-n03 (retired)"),
    "announced already": (("r12-n02", *WHEN, *WHY), 2, "names r12-n02 already"),
    "a year in which no window can be computed": (
        ("r12-n01", "--begins", "9999-12-30T00:00Z", "--ends", "9999-12-31T00:00Z", *WHY),
        2,
        "its offset",
    ),
    "no offset": (("r12-n01", "--begins", "2999-12-01T22:00", "--ends", ENDS, *WHY), 2, "its offset from UTC"),
    "no time": (("r12-n01", "--begins", "tomorrow", "--ends", ENDS, *WHY), 2, "its offset from UTC"),
    "first hour of all": (("r12-n01", "--begins", "0001-01-01T00:00+10:00", "--ends", ENDS, *WHY), 2, "its offset from UTC"),
    "year of three digits": (("r12-n01", "--begins", "0999-01-01T00:00Z", "--ends", ENDS, *WHY), 2, "its offset from UTC"),
    "no end": (("r12-n01", "--begins", BEGINS, *WHY), 2, "TARGET needs --ends"),
    "no reason": (("r12-n01", *WHEN), 2, "TARGET needs --reason"),
    "empty reason": (("r12-n01", *WHEN, "--reason", " "), 2, "is empty"),
    "target alone": (("r12-n01",), 2, "TARGET needs --begins"),
    "target and id": (("r12-n01", "--move", "1", *WHEN, *WHY), 2, "TARGET cannot be combined with --move"),
    "two ids": (("--move", "1", "--cancel", "1", *WHY), 2, "--move cannot be combined with --cancel"),
    "move to nowhere": (("--move", "1", *WHY), 2, "--move needs --begins or --ends"),
    "cancel without why": (("--cancel", "1"), 2, "--cancel needs --reason"),
    "cancel with a time": (("--cancel", "1", "--ends", ENDS, *WHY), 2, "--cancel cannot be combined with --ends"),
    "list with a time": (("--begins", BEGINS), 2, "--begins needs TARGET, --move or --cancel"),
    "all of one": (("--cancel", "1", *WHY, "--all"), 2, "--cancel cannot be combined with --all"),
    "unknown id": (("--cancel", "9", *WHY), 3, "there is no notice 9"),
    "no id": (("--cancel", "0", *WHY), 2, "--cancel"),
    "id beyond all": (("--move", "9" * 30, *WHEN), 2, "--move"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_wrong_input_is_refused_and_changes_nothing(store: Store, case: str, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "r12-n02", *WHEN, *WHY)
    before = store.notice_changes_since("")
    argv, code, why = REFUSED[case]
    assert main.call(["announce", *argv]) == code
    said = capsys.readouterr()
    assert why in said.err
    assert said.out == ""
    assert store.notice_changes_since("") == before


def test_a_notice_of_a_record_that_is_empty_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["--state-dir", str(tmp_path), "announce", "all", *WHEN, *WHY]) == 3
    assert "no node is recorded yet" in capsys.readouterr().err


def test_lines_for_people(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["announce"]) == 0
    assert "no planned maintenance is announced" in capsys.readouterr().err
    assert main.call(["announce", "all", *WHEN, "--reason", "new \x1b[31mswitch"]) == 0
    said = capsys.readouterr()
    assert said.out.splitlines()[1].startswith(
        f"1   planned  {BEGINS[:10]} {BEGINS[11:19]}Z  {ENDS[:10]} {ENDS[11:19]}Z  r12-n01, r12-n02  ada"
    )
    assert "declares no receiver of events" in said.err
    assert "\x1b" not in said.out
    assert main.call(["status", "r12-n01"]) == 0
    assert f"planned maintenance 1, {BEGINS[:10]} {BEGINS[11:19]}Z to" in capsys.readouterr().out
    assert len(store.notices()) == 1


def test_what_may_be_missing_is_named(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    receivers = "events: {receivers: [{name: log, command: [cat]}]}\n"
    closed = 'maintenance_windows: [{from: "2020-01-01 00:00", to: "2020-01-02 00:00"}]\n'
    for number, (text, notes) in enumerate(((receivers, ()), (receivers + closed, ("no maintenance window is open when it begins",))), 1):
        (tmp_path / "clusterctl.yml").write_text(text)
        assert main.call(["announce", f"r12-n0{number}", *WHEN, *WHY]) == 0
        lines = capsys.readouterr().err.splitlines()
        assert len(lines) == len(notes)
        assert all(note in line for note, line in zip(notes, lines, strict=True))
    assert main.call(["announce", "--cancel", "1", *WHY]) == 0
    assert capsys.readouterr().err == "", "a cancelled one needs no window"
    assert len(store.notices()) == 2


@pytest.mark.parametrize("quickly", [True, False])
def test_status_shows_what_is_planned_for_the_nodes_of_the_target(
    store: Store, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *, quickly: bool
) -> None:
    if not quickly:
        monkeypatch.setattr(sqlite_reader, "read_snapshot", lambda _url: None)
    call(capsys, "r12-n01", *WHEN, *WHY)
    call(capsys, "r12-n02", *WHEN, "--reason", "called off")
    call(capsys, "--cancel", "2", "--reason", "no spare")
    assert main.call(["status", "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    STATUS.validate(data)
    planned = {"id": 1, "begins_at": BEGINS, "ends_at": ENDS, "reason": "new switch", "operator": "ada"}
    assert {n["name"]: n["planned_maintenance"] for n in data["nodes"]} == {"r12-n01": [planned], "r12-n02": [], "r12-n03": []}
    assert not STATUS.is_valid({**data, "nodes": [{**data["nodes"][0], "planned_maintenance": [{"id": 1}]}]})
    assert main.call(["status", "r12-n02"]) == 0
    assert "planned maintenance" not in capsys.readouterr().out
    assert [n.id for n in store.notices()] == [1, 2]


def test_drain_and_release_leave_a_notice_and_heed_none(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    call(capsys, "r12-n01", *WHEN, *WHY)
    before = store.notices()
    assert main.call(["drain", "r12-n01", "--to", "maintenance", "--reason", "earlier than announced"]) == 0
    assert main.call(["release", "r12-n01", "--reason", "done"]) == 0
    assert main.call(["drain", "r12-n01", "--to", "retired", "--reason", "old"]) == 0
    assert store.notices() == before
    assert main.call(["forget", "r12-n01", "--yes"]) == 0
    capsys.readouterr()
    assert [n["nodes"] for n in call(capsys)] == [["r12-n01"]]
