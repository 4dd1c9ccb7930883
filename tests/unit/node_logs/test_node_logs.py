"""The logs of nodes: what the tools print, what connections do, and what reaches a terminal."""

from __future__ import annotations

import asyncio
import json
import shlex
import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, cast

import pytest

from clusterctl import main
from clusterctl.adapters.ssh.read_host_log import read_host_log
from clusterctl.adapters.ssh.remote_result import RemoteResult, TransportError, TransportFailure
from clusterctl.commands.option_types import TIME_SPAN_S
from clusterctl.core.parsers.host_log import dmesg_entries
from clusterctl.model.errors import ConfigError
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.node_log import HostLogEntry, LogOutcome, LogSource, LogWindow, NodeLog
from clusterctl.terminal.logs import show_node_logs
from clusterctl.workflows.node_logs import read_node_logs
from support.plain_yaml import load_yaml
from support.provisioning import node
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.adapters.ssh.ssh import SshClient
    from clusterctl.model.node import Connection

CASES: dict[str, dict[str, Any]] = load_yaml((ROOT / "tests/cases/node_logs/reading.yml").read_text())
N1 = node("r12-n01")
WINDOW = LogWindow(900, 200)


@dataclass
class Fake:
    """A client, and the session that it opens: results in turn, or an error."""

    results: list[RemoteResult] = field(default_factory=list)
    error: Exception | None = None
    commands: list[str] = field(default_factory=list)
    closed: bool = False

    async def connect(self, _connection: Connection, _password: str = "") -> Fake:
        if isinstance(self.error, ConfigError):
            raise self.error
        return self

    async def run(self, argv: Sequence[str], _stdin: bytes, _limit_bytes: int) -> RemoteResult:
        self.commands.append(shlex.join(argv))
        if self.error:
            raise self.error
        if not self.results:
            await asyncio.sleep(60)
        return self.results.pop(0)

    def close(self) -> None:
        self.closed = True


def read(fake: Fake, window: LogWindow = WINDOW, password: str = "", limit_s: float = 5) -> NodeLog:
    return asyncio.run(read_host_log(cast("SshClient", fake), N1, window, limit_s, password))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_the_tools_print(case: dict[str, Any]) -> None:
    printed = [RemoteResult(case.get("rc", 0), case.get("journal", "").encode(), case.get("stderr", "").encode())]
    if "dmesg" in case:
        printed.append(RemoteResult(case.get("dmesg_rc", 0), case["dmesg"].encode(), b""))
    if "ever" in case:
        printed.append(RemoteResult(0, case["ever"].encode(), b""))
    fake = Fake(list(printed))
    found = read(
        fake,
        LogWindow(case.get("since_s", 900), case.get("lines", 200), case.get("whole", False), case.get("until_s", 0)),
        case.get("password", ""),
    )
    assert (len(fake.commands), fake.closed) == (len(printed), True)
    assert (found.outcome, found.source) == (case.get("outcome", "read"), case.get("source"))
    assert [[e.level, e.program, e.message] for e in found.entries] == case.get("entries", [])
    assert (found.truncated, found.unreadable) == (case.get("truncated", False), case.get("unreadable", 0))
    assert found.problem.startswith(case["problem"]) if "problem" in case else found.problem == ""
    assert "first_at" not in case or found.entries[0].at == case["first_at"]


def test_only_what_is_wanted_is_read_from_the_node() -> None:
    silent = RemoteResult(0, b"", b"")
    fake = Fake([silent] * 3)
    read(fake, LogWindow(7200, 10))
    assert "journalctl --no-pager --reverse -o json" in fake.commands[0]
    assert "--since=-7200s --lines=11 _TRANSPORT=kernel" in fake.commands[0]
    assert fake.commands[1].endswith("sh -c 'date +%s; exec dmesg --decode --time-format iso'")
    fake = Fake([silent] * 2)
    read(fake, LogWindow(60, 10, journal=True))
    assert fake.commands[0].endswith("--since=-60s --lines=11")
    assert fake.commands[1].endswith("_COMM --lines=1")
    fake = Fake([silent] * 3)
    read(fake, LogWindow(7200, 10, until_s=3600))
    assert "--since=-7200s --until=-3600s --lines=11 _TRANSPORT=kernel" in fake.commands[0]


def test_a_message_of_many_lines_takes_no_time_that_grows_with_its_square() -> None:
    text = "2026-11-27T22:37:11,498559+00:00 first\n" + "more\n" * 400_000
    begun = time.monotonic()
    ((found,), unreadable) = dmesg_entries(text)
    assert (len((found.message or "").split("\n")), unreadable) == (400_001, 0)
    assert time.monotonic() - begun < 20


LOST: dict[str, tuple[Exception, LogOutcome]] = {
    "unreachable": (TransportError(TransportFailure.UNREACHABLE, "no route to host"), LogOutcome.UNREACHABLE),
    "cut off": (TransportError(TransportFailure.DISCONNECTED, "connection lost"), LogOutcome.UNREACHABLE),
    "ssh arguments": (ConfigError(detail="-o Foo is not supported", hint=""), LogOutcome.UNREACHABLE),
    "flood": (TransportError(TransportFailure.TOO_MUCH_OUTPUT, "the output exceeds its size limit"), LogOutcome.NOT_READ),
}


@pytest.mark.parametrize("case", LOST)
def test_a_connection_that_fails_is_the_outcome_of_its_node(case: str) -> None:
    error, outcome = LOST[case]
    found = read(Fake(error=error))
    assert (found.outcome, found.entries, bool(found.problem)) == (outcome, (), True)


def test_a_node_that_never_answers_is_given_up() -> None:
    fake = Fake()
    assert read(fake, limit_s=0.05) == NodeLog(N1.name, LogOutcome.UNREACHABLE, "no answer within 0.05 s")
    assert fake.closed


def test_a_node_without_ssh_is_not_read() -> None:
    (found,) = read_node_logs([replace(N1, connection=replace(N1.connection, kind="local"))], (), WINDOW)
    assert (found.outcome, found.problem) == (LogOutcome.NOT_READ, "ansible_connection is local: logs are read by SSH only")


def entry(message: str | None, boot: str = "b1") -> HostLogEntry:
    return HostLogEntry("2026-03-14T09:30:12.123456Z", boot, "warn", "kernel", message)


HOSTILE = "\x1b]0;owned\x07\x1b[2J\r\nr12-n09  2026-03-14T09:30:12.123456Z  err     kernel: forged\u202e\x9b31m"
SHOWN = (
    NodeLog("n1", LogOutcome.READ, "", LogSource.JOURNAL, True, 2, (entry(HOSTILE), entry(None), entry("up", "b2"))),
    NodeLog("r12-n02", LogOutcome.UNREACHABLE, "no route \x1b[31mto host"),
    NodeLog("r12-n03", LogOutcome.NOT_READ, "journalctl: not found"),
    NodeLog("r12-n04", LogOutcome.READ, source=LogSource.DMESG),
    NodeLog("r12-n05", LogOutcome.READ, "journalctl: Bad message", LogSource.JOURNAL, entries=(entry("last"),)),
)


def test_a_line_per_entry_that_controls_no_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    show_node_logs(SHOWN, LogWindow(900, 3), "table")
    text = capsys.readouterr().out
    lines = text.splitlines()
    assert lines[:2] == [
        "n1       older entries are left out: these are the newest 3 in the last 15 min (--lines)",
        "n1       lines that are not entries, and are not shown: 2",
    ]
    assert lines[2].startswith(r"n1       2026-03-14T09:30:12.123456Z  warn    kernel: \x1b]0;owned\x07\x1b[2J\r\nr12-n09 ")
    assert lines[3].endswith("kernel: (longer than 4,096 bytes, so journald does not print it)")
    assert lines[4:] == [
        "n1       another boot: b2",
        "n1       2026-03-14T09:30:12.123456Z  warn    kernel: up",
        r"r12-n02  not reached: no route \x1b[31mto host",
        "r12-n03  not read: journalctl: not found",
        "r12-n04  no entries in the last 15 min (dmesg)",
        "r12-n05  not read to the end, older entries may be missing: journalctl: Bad message",
        "r12-n05  2026-03-14T09:30:12.123456Z  warn    kernel: last",
    ]
    assert all(c.isprintable() or c == "\n" for c in text)


def test_a_span_that_ends_before_now(capsys: pytest.CaptureFixture[str]) -> None:
    show_node_logs((SHOWN[0], SHOWN[3]), LogWindow(7200, 3, until_s=5400), "table")
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("these are the newest 3 from 2 h to 90 min ago (--lines)")
    assert lines[-1].endswith("no entries from 2 h to 90 min ago (dmesg)")


@pytest.mark.parametrize("until", ["15m", "1h"])
def test_a_span_that_ends_before_it_begins_is_wrong_usage(until: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.call(["logs", "all", "--since=15m", f"--until={until}"]) == ExitCode.USAGE


@pytest.mark.parametrize("output", ["json", "yaml"])
def test_a_document_holds_the_message_and_no_control_character(output: str, capsys: pytest.CaptureFixture[str]) -> None:
    show_node_logs(SHOWN, WINDOW, output)
    text = capsys.readouterr().out
    assert all(c.isprintable() or c == "\n" for c in text)
    assert load_yaml(text)["nodes"][0]["entries"][0]["message"] == HOSTILE
    assert output == "yaml" or json.loads(text)["nodes"][1]["outcome"] == "unreachable"


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("15m", 900), ("2h", 7200), ("30d", 2_592_000)])
def test_how_far_back(text: str, seconds: int) -> None:
    assert TIME_SPAN_S.convert(text, None, None) == seconds


@pytest.mark.parametrize("text", ["0m", "15", "m", "31d", "-5m", "1.5h", "9999999d", "٣m"])
def test_a_span_that_is_none_is_wrong_usage(text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main.call(["logs", "all", f"--since={text}"]) == ExitCode.USAGE
