from __future__ import annotations

import json
import subprocess

import pytest

from clusterctl_lab.bmc import power


@pytest.mark.parametrize(
    ("started", "seconds"),
    [
        ("2026-11-21T02:28:08.131415926Z", 1795228088.131415),
        ("2026-11-21T02:28:08.1Z", 1795228088.1),
        ("2026-11-21T03:28:08.131415926+01:00", 1795228088.131415),
        ("2026-11-21T02:28:08Z", 1795228088.0),
    ],
)
def test_start_times_of_podman_are_parsed(monkeypatch: pytest.MonkeyPatch, started: str, seconds: float) -> None:
    answer = json.dumps({"Status": "running", "StartedAt": started})
    monkeypatch.setattr(power, "podman", lambda *_words: subprocess.CompletedProcess([], 0, stdout=answer))
    found = power.power_state("r1-n01")
    assert found.on
    assert found.started_at == pytest.approx(seconds)


def test_a_reset_restarts_or_stops_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, ...]] = []
    monkeypatch.setattr(power, "podman", lambda *words: calls.append(words))
    power.reset_node("r1-n01", "ForceRestart")
    power.reset_node("r1-n01", "ForceOff")
    assert calls == [("restart", "--time", "0", "r1-n01"), ("stop", "--time", "0", "r1-n01")]
    with pytest.raises(KeyError):
        power.reset_node("r1-n01", "Nmi")
