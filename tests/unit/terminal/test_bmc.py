from __future__ import annotations

import json

import pytest

from clusterctl.model.bmc_report import AccountCheck, BmcReport, BmcSection, Console, LogEntry, Protocol, Sensor
from clusterctl.terminal.bmc import show_bmcs

GOOD = BmcReport(
    "r12-n01",
    verified=True,
    power="on",
    manufacturer="Dell",
    model="XE9680",
    serial="S1",
    bios_version="2.1",
    bmc_versions=(("BMC.1", "7.0"),),
    log=(LogEntry("SEL", "7", "2026-01-01T00:00:00Z", "Critical", "PSU 1 \x1b[31mlost"),),
    sensors=(Sensor("1", "CPU1 Temp", "temperature", 45.5, "Cel", "OK"), Sensor("1", "Fan 9", "fan", None, "", "")),
    protocols=(Protocol("BMC.1", "HTTPS", enabled=True, port=443), Protocol("BMC.1", "IPMI", enabled=False)),
    answers_without_account=True,
    consoles=(Console("System.1", "SSH", enabled=True, detail="port 2200"),),
    missing=((BmcSection.LOG, "HTTP 500"),),
)
BAD = BmcReport("r12-n02", problem="cannot be reached: Connection refused")


def test_pages(capsys: pytest.CaptureFixture[str]) -> None:
    show_bmcs((GOOD, BAD), tuple(BmcSection), "table")
    text = capsys.readouterr().out
    for line in (
        "r12-n01: on; Dell XE9680, serial S1, BIOS 2.1",
        "TLS certificate: verified",
        "IPMI over LAN: off; HTTP without TLS: unknown",
        "Redfish without an account: answered: anybody on its network can read it",
        "log: cannot be read: HTTP 500",
        "r12-n02: its BMC cannot be read: cannot be reached: Connection refused",
    ):
        assert line in text
    assert "45.5 Cel" in text
    assert "\x1b" not in text


def test_only_what_was_asked_for(capsys: pytest.CaptureFixture[str]) -> None:
    show_bmcs((GOOD,), (BmcSection.CONSOLE,), "table")
    text = capsys.readouterr().out
    assert "port 2200" in text
    assert "SEVERITY" not in text
    assert "IPMI over LAN" not in text


ENTRY = LogEntry("SEL", "6", "", "OK", "by \x1bauditor")


@pytest.mark.parametrize(
    ("check", "lines"),
    [
        (AccountCheck("auditor", refused=True, answer="HTTP 403 No.", logged=ENTRY), (": refused (HTTP 403 No.)", "account: SEL 6: by ")),
        (AccountCheck("auditor", refused=False, answer="accepted"), ("its roles are not enforced (accepted)", "account: no")),
        (AccountCheck("auditor", refused=None, answer="HTTP 405"), ("refused, which shows no roles (HTTP 405)", "account: no")),
        (AccountCheck("auditor", None, "HTTP 403", "HTTP 403 No."), ("shows no roles (HTTP 403; bmc_user: HTTP 403 No.)", "account: no")),
    ],
)
def test_a_change_that_was_tried(capsys: pytest.CaptureFixture[str], check: AccountCheck, lines: tuple[str, ...]) -> None:
    show_bmcs((BmcReport("n", power="on", accounts=check),), (BmcSection.ACCOUNTS,), "table")
    text = capsys.readouterr().out
    assert [line for line in lines if line not in text] == []
    assert "\x1b" not in text


def test_what_is_not_there_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    show_bmcs((BmcReport("n", power="on"),), tuple(BmcSection), "table")
    text = capsys.readouterr().out
    assert "no serial console" in text
    assert "no sensors" in text
    assert "no entries in its logs" in text
    assert "not verified" in text


def test_json(capsys: pytest.CaptureFixture[str]) -> None:
    show_bmcs((GOOD, BAD), tuple(BmcSection), "json")
    first, second = json.loads(capsys.readouterr().out)["nodes"]
    assert (first["ipmi_over_lan"], first["http_without_tls"], first["serial_console"], first["tls_verified"]) == (False, None, True, True)
    assert first["sensors"][0]["reading"] == 45.5
    assert first["missing"] == {"log": "HTTP 500"}
    assert second == {"name": "r12-n02", "problem": "cannot be reached: Connection refused"}
