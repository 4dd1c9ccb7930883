from __future__ import annotations

import json

import pytest

from clusterctl.model.power import Boot, PowerOutcome, PowerReport
from clusterctl.terminal.power import show_power, uptime

REPORTS = (
    PowerReport("r12-n01", PowerOutcome.DONE, "on", "S1", Boot("b1", 75.5)),
    PowerReport("r12-n02", PowerOutcome.FAILED, detail="its BMC: \x1b[31mgone", down=True),
)


@pytest.mark.parametrize(("seconds", "text"), [(0, "0s"), (59.9, "59s"), (60, "1m 0s"), (3723, "1h 2m"), (90000, "1d 1h")])
def test_uptime(seconds: float, text: str) -> None:
    assert uptime(seconds) == text


def test_table(capsys: pytest.CaptureFixture[str]) -> None:
    show_power("cycle", "run-1", REPORTS, "table")
    lines = capsys.readouterr().out.splitlines()
    assert lines[1].split() == ["r12-n01", "done", "on", "yes", "1m", "15s", "S1"]
    assert lines[2].split()[:5] == ["r12-n02", "failed", "unknown", "no", "-"]
    assert "\x1b" not in lines[2]


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    show_power("cycle", "run-1", REPORTS, "json")
    data = json.loads(capsys.readouterr().out)
    assert (data["kind"], data["action"], data["run_id"]) == ("power", "cycle", "run-1")
    first, second = data["nodes"]
    assert (first["reachable"], first["uptime_s"], first["boot_id"], first["serial"]) == (True, 75.5, "b1", "S1")
    assert (second["reachable"], second["uptime_s"], second["boot_id"], second["outcome"]) == (False, None, None, "failed")
