"""The M_Key of a port: what recorded answers show, what they do not, and that the key itself gets nowhere."""

from __future__ import annotations

import re
from dataclasses import asdict
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_tools.port_info import UnreadablePortInfoError, has_no_answer, own_port_argv, parse_own_port, parse_record_level
from clusterctl_validators.sources import CommandResult
from support.port_info import Subnet, finding, subnets

if TYPE_CHECKING:
    from pathlib import Path

SUBNETS = {s.name: s for s in subnets()}
SILENT, OPEN = SUBNETS["key_at_level_2"], SUBNETS["key_at_level_0"]


@pytest.mark.parametrize("subnet", SUBNETS.values(), ids=SUBNETS)
def test_the_finding_of_a_recorded_subnet(subnet: Subnet, tmp_path: Path) -> None:
    found = finding(tmp_path, subnet.answer("smpquery"), subnet.answer("saquery"))
    assert found.outcome.value == subnet.outcome
    assert subnet.says in (found.reason or found.found)


@pytest.mark.parametrize("subnet", [s for s in SUBNETS.values() if s.key], ids=lambda s: s.name)
def test_the_subnet_manager_shows_the_level_of_a_port(subnet: Subnet) -> None:
    assert parse_record_level(subnet.answer("saquery").stdout) == subnet.level


def test_the_key_is_in_no_finding_and_in_no_error(tmp_path: Path) -> None:
    """Level 0 shows it to everybody: it is in what smpquery printed, and nowhere after that."""
    shown = OPEN.answer("smpquery")
    digits = OPEN.key.removeprefix("0x")
    assert digits in shown.stdout
    spoiled = [
        shown,
        CommandResult(0, shown.stdout * 2),
        CommandResult(0, shown.stdout.replace("ProtectBits", "Other")),
        CommandResult(255, shown.stdout, shown.stdout),
        CommandResult(0, shown.stdout.replace("ProtectBits:.....................0", "ProtectBits:.....................2")),
        CommandResult(None, shown.stdout, error="timed out after 20 s"),
    ]
    for i, answer in enumerate(spoiled):
        found = finding(tmp_path / str(i), answer, SILENT.answer("saquery"))
        assert found.outcome.value in ("fail", "could_not_run")
        assert digits not in repr(asdict(found)).lower()
        assert str(int(digits, 16)) not in repr(asdict(found))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"record": SUBNETS["no_key"].answer("saquery")}, "although its protection level is 0 for the subnet manager"),
        ({"record": SUBNETS["key_at_level_1"].answer("saquery")}, "although its protection level is 1"),
        ({"record": CommandResult(255, "", "ibwarn: [1] sa_query: umad_recv failed\n")}, "is unknown: saquery ended with exit status 255"),
        ({"record": CommandResult(0, "", "")}, "is unknown: saquery shows 0 protection levels"),
        ({}, "is unknown: saquery: No such file or directory"),
        ({"record": SILENT.answer("saquery"), "lid": "0x0"}, "is unknown: ibsim0 has no local id"),
    ],
)
def test_silence_alone_is_no_evidence_of_a_key(change: dict[str, object], why: str, tmp_path: Path) -> None:
    found = finding(tmp_path, SILENT.answer("smpquery"), **change)  # type: ignore[arg-type]
    assert found.outcome.value == "could_not_run"
    assert why in found.reason


@pytest.mark.parametrize(
    ("errors", "silent"),
    [
        ("ibwarn: [7] mad_rpc: _do_madrpc failed; dport (DR path slid 0; dlid 0; 0)\n", True),
        ("ibwarn: [7] _do_madrpc: recv failed: Connection timed out\nibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 1)\n", True),
        ("ibwarn: [7] _do_madrpc: send failed; Invalid argument\nibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 1)\n", False),
        ("ibwarn: [7] _do_madrpc: recv failed: Input/output error\nibwarn: [7] mad_rpc: _do_madrpc failed; dport (Lid 1)\n", False),
        ("ibwarn: [7] mad_rpc: MAD completed with error status 0xc; dport (Lid 1)\n", False),
        ("", False),
    ],
)
def test_only_a_query_that_was_sent_can_be_left_unanswered(errors: str, silent: bool) -> None:
    failed = SILENT.answer("smpquery").stdout
    assert has_no_answer(failed, errors) is silent
    assert not has_no_answer(OPEN.answer("smpquery").stdout, errors)


def test_a_key_of_the_node_itself_is_not_used() -> None:
    argv = own_port_argv("mlx5_0", 1)
    assert argv[argv.index("-y") + 1] == "0"


LINES = st.sampled_from(["Mkey:....0x0", "Mkey:..0xff", "ProtectBits:..1", "ProtectBits:..4", "PortInfoRecord dump:"])


@given(st.text() | st.lists(LINES).map("\n".join))
def test_any_answer_is_read_or_refused(text: str) -> None:
    for parse in (parse_own_port, parse_record_level):
        try:
            parse(text)
        except UnreadablePortInfoError:
            continue
        assert len(re.findall(r"ProtectBits:\.*[0-3]", text)) == 1


@given(st.integers(0, 2**64 - 1), st.integers(0, 3))
def test_a_key_is_a_key_whatever_its_digits(key: int, level: int) -> None:
    text = OPEN.answer("smpquery").stdout.replace(OPEN.key, f"0x{key:016x}")
    shown = parse_own_port(re.sub(r"(ProtectBits:\.+)0", rf"\g<1>{level}", text))
    assert (shown.shows_key, shown.level) == (key != 0, level)
