"""`clusterctl breaker`: shows what may leave, and is reset by a person with a reason."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator

from clusterctl import main
from clusterctl.adapters.pools.local import LocalPool
from support.rack_after_run import NAMES, provisioned_rack
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.store import Store

SCHEMA = json.loads((ROOT / "docs/reference/schemas/breaker.schema.json").read_text())
CLOSED = 'maintenance_windows: [{from: "2020-01-01 00:00", to: "2020-01-02 00:00"}]\n'


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Store:
    store, _ = provisioned_rack(tmp_path / ".clusterctl")
    for name in NAMES:
        if name != "r12-n04":
            LocalPool(store).admit(name, "run")
    (tmp_path / "clusterctl.yml").write_text("operator: ada\n")
    for name in ("CONFIG", "STATE_DIR", "DATABASE_URL", "OPERATOR"):
        monkeypatch.delenv(f"CLUSTERCTL_{name}", raising=False)
    monkeypatch.chdir(tmp_path)
    return store


def call(capsys: pytest.CaptureFixture[str], *argv: str) -> Any:
    assert main.call(["breaker", *argv, "-o", "json"]) == 0
    data = json.loads(capsys.readouterr().out)
    Draft202012Validator(SCHEMA).validate(data)
    return data


def test_a_reset_is_recorded_with_its_reason(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    store.trip_breaker(operator="drift", reason="drift: too many")
    data = call(capsys)
    assert (data["state"], data["members"], data["may_leave"]) == ("open", 5, 0)
    data = call(capsys, "--reset", "--reason", "a wrong limit")
    assert (data["state"], data["may_leave"]) == ("closed", 2)
    assert [(e["kind"], e["operator"], e["reason"]) for e in data["events"]] == [
        ("reset", "ada", "a wrong limit"),
        ("tripped", "drift", "drift: too many"),
    ]


@pytest.mark.parametrize("argv", [("--reset",), ("--reason", "why"), ("--reset", "--reason", " ")])
def test_a_reset_needs_a_reason(store: Store, argv: tuple[str, ...]) -> None:
    store.trip_breaker(operator="drift", reason="drift: too many")
    assert main.call(["breaker", *argv]) == 2
    assert len(store.breaker_events(9)) == 1


def test_lines_for_people(store: Store, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store.trip_breaker(operator="drift", reason="drift: \x1b[31mtoo many")
    (tmp_path / "clusterctl.yml").write_text(CLOSED)
    assert main.call(["breaker"]) == 0
    text = capsys.readouterr().out
    assert "circuit breaker: OPEN; 50 % of the pool within 5 min" in text
    assert "pool: 5 members, 0 taken out in this window, 0 more may leave" in text
    assert "planned work: no maintenance window is left" in text
    assert "tripped  by drift: drift: " in text
    assert "\x1b" not in text


@pytest.mark.parametrize(("to", "code"), [("drained", 8), ("rma", 2), ("quarantined", 0)])
def test_drain_outside_of_the_windows(store: Store, tmp_path: Path, to: str, code: int, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "clusterctl.yml").write_text(CLOSED)
    assert main.call(["drain", "r12-n01", "--reason", "new DIMMs", "--to", to]) == code
    assert ("r12-n01" in LocalPool(store).members()) is (code != 0)
    if code == 8:
        assert "planned work" in capsys.readouterr().err
        assert main.call(["drain", "r12-n01", "--reason", "new DIMMs", "--force"]) == 0
