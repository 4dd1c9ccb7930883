"""How far back the kernel log reaches: journal and kernel buffer, losses, and the declared hours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import boot_log
from clusterctl_validators.probe import CommandResult
from support.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

FIRST = "2026-09-20T08:00:00+00:00 kernel: Linux version 6.8.0-60-generic\n"
LATE = "2026-11-19T08:00:00+00:00 kernel: audit: type=1400\n"
LATER = "2026-11-20T08:00:00+00:00 kernel: audit: type=1400\n"
MISSED = "2026-11-18T08:00:00+00:00 systemd-journald[412]: Missed 17 kernel messages\n"


class Answers:
    """Answers by the name of the command."""

    def __init__(self, journalctl: str, dmesg: str) -> None:
        self.answers = {"journalctl": journalctl, "dmesg": dmesg}

    def run(self, argv: Sequence[str], timeout_s: float = 20) -> CommandResult:
        assert timeout_s > 0
        text = self.answers[argv[0]]
        return CommandResult(0 if text else 1, text)


@pytest.mark.parametrize(
    ("journal", "buffer", "complete"),
    [
        (FIRST + LATE, LATER, True),  # up for 60 days: the kernel's buffer was overwritten, the journal holds the boot
        (LATE, FIRST + LATER, True),  # the journal was rotated away, the buffer holds the boot
        ("", FIRST, True),
        (FIRST, "", True),
        ("2026-09-20T08:00:00+00:00 kernel: Booting Linux on physical CPU 0x0000000000 [0x410fd4f0]\n" + FIRST, "", True),
        (LATE, LATER, False),
        (LATE, "", False),
        ("", LATER, False),
        (FIRST + MISSED + LATE, LATER, False),
        (FIRST + MISSED + LATE, FIRST + LATE, True),
        (LATE.replace("audit", "audit: comm=Linux version 6.8"), "", False),
    ],
)
def test_since_boot(journal: str, buffer: str, complete: bool) -> None:
    missing = boot_log.read_log(Answers(journal, buffer)).missing()
    assert (not missing) == complete
    assert complete or "hardware_log_hours" in missing
    assert complete or "Reboot" in missing


def test_the_log_that_reaches_further_back_counts() -> None:
    assert boot_log.read_log(Answers(LATE, LATER)).begins == LATE[:25]
    assert boot_log.read_log(Answers(LATER, LATE)).begins == LATE[:25]


@pytest.mark.parametrize(
    ("text", "since", "complete"),
    [
        (LATE, LATE, True),
        (LATE, LATER, True),
        (LATER, LATE, False),
        (FIRST + MISSED + LATE, LATE, True),  # the loss is older than the hours that count
        (FIRST + MISSED + LATE, FIRST, False),
        ("[12.5] audit: type=1400\n", LATER, False),
    ],
)
def test_within_hours(text: str, since: str, complete: bool) -> None:
    log = boot_log.parse_log(text)
    assert (not log.missing(boot_log.seconds_of(since[:25]))) == complete


def test_a_program_cannot_note_a_loss() -> None:
    assert boot_log.parse_log(FIRST + "2026-11-18T08:00:00+00:00 kernel: systemd-journald[412]: Missed 17 kernel messages\n").missed == ()


def test_a_recorded_log_of_a_boot_and_one_that_begins_later() -> None:
    assert boot_log.parse_log(recorded("dmesg/redhat-cip-dmesg.txt").read_text(errors="replace")).whole
    assert not boot_log.parse_log(recorded("dmesg/xid79-154-chain.txt").read_text(errors="replace")).whole
