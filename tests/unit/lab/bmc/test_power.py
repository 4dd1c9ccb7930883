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


def test_podman_is_asked_again_only_when_the_first_process_of_the_node_has_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    first = subprocess.Popen(["sleep", "60"])
    states = [
        {"Status": "running", "StartedAt": "2026-11-21T02:28:08Z", "Pid": first.pid},
        {"Status": "exited", "StartedAt": "2026-11-21T02:28:08Z", "Pid": 0},
        {"Status": "running", "StartedAt": "2026-11-21T02:29:00Z", "Pid": first.pid},
        {"Status": "running", "StartedAt": "2026-11-21T02:29:00Z", "Pid": first.pid},
    ]
    asked: list[str] = []

    def answer(*words: str) -> subprocess.CompletedProcess[str]:
        asked.append(words[-1])
        return subprocess.CompletedProcess([], 0, stdout=json.dumps(states[len(asked) - 1]))

    monkeypatch.setattr(power, "podman", answer)
    seen = [power.power_state("r1-n02") for _ in range(3)]
    assert all(s.on for s in seen)
    assert asked == ["r1-n02"]
    first.kill()
    first.wait()
    assert not power.power_state("r1-n02").on
    again = power.power_state("r1-n02")
    assert again.on
    assert again.started_at == seen[0].started_at + 52
    assert power.power_state("r1-n02") == again  # nothing runs under that number: nothing is kept
    assert len(asked) == 4


def test_a_reset_restarts_or_stops_the_container(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[tuple[str, ...]] = []
    monkeypatch.setattr(power, "podman", lambda *words: calls.append(words))
    power.reset_node("r1-n01", "ForceRestart")
    power.reset_node("r1-n01", "ForceOff")
    assert calls == [("restart", "--time", "0", "r1-n01"), ("stop", "--time", "0", "r1-n01")]
    with pytest.raises(KeyError):
        power.reset_node("r1-n01", "Nmi")
