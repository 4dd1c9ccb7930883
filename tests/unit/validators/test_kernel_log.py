from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_validators import boot_log, kernel_log
from clusterctl_validators.boot_log import UnreadableLogError
from clusterctl_validators.kernel_log import KernelEvents
from clusterctl_validators.probe import CommandResult
from clusterctl_validators.xid_catalogue import CATALOGUE, HARMLESS, HINTS, Action, action_for, recovery_action
from support.recorded import recorded

if TYPE_CHECKING:
    from collections.abc import Sequence

FAKES = (
    "2026-11-20T08:00:00+00:00 kernel: oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/job/NVRM: Xid (PCI:0000:19:00): 79, GPU,task=a",
    "[  12.5] oom-kill:constraint=CONSTRAINT_MEMCG,task_memcg=/a kernel: NVRM: Xid (PCI:0000:19:00): 79, GPU,task=a",
    "[  12.5] Memory cgroup out of memory: Killed process 1 ([x] NVRM: Xid (PCI:0000:19:00): 79, x)",
    'Nov 20 08:00:00 n1 kernel: audit: comm="SXid (PCI:0000:05:00.0): 20034, Fatal"',
)
XIDS = {
    "nvidia-docs-xid94-contained-mig.txt": [94],
    "azure-nhc-0flap_syslog.txt": [],
    "gcm-check_syslogs-L121.txt": [31, 48],
    "gpud-dmesg-nccl-segfault-iso.txt": [],
    "gpud-dmesg-with-xid-119.txt": [119],
    "gpud-dmesg-time-format-iso.log.txt": [48, 63, 94],
    "gpud-dmesg.decode.iso.log.1.txt": [],
    "redhat-cip-dmesg.txt": [],
    "stas00-xid63.txt": [63],
    "xid-format-variants-secondary.txt": [13, 31, 38, 43, 48, 63, 74, 79, 109, 119, 145],
    "xid79-154-chain.txt": [79, 154],
}


def parse(name: str) -> KernelEvents:
    return kernel_log.parse(recorded(f"dmesg/{name}").read_text(errors="replace"))


@pytest.mark.parametrize(("name", "codes"), XIDS.items())
def test_codes_in_recorded_logs(name: str, codes: list[int]) -> None:
    assert sorted({e.code for e in parse(name).xids}) == codes


@pytest.mark.parametrize("line", FAKES)
def test_text_of_a_user_in_another_message_is_no_xid(line: str) -> None:
    assert kernel_log.parse(line) == KernelEvents((), ())


def test_address_time_and_detail() -> None:
    event = parse("gpud-dmesg-time-format-iso.log.txt").xids[0]
    assert (event.time, event.pci, event.code) == ("2024-11-15T12:02:03,470068+00:00", "0000:19:00", 48)
    assert "double bit" in event.detail


def test_every_time_has_a_year() -> None:
    events = parse("gpud-dmesg.decode.iso.log.0.txt").xids
    assert {e.time[:4] for e in events} == {"2025"}


def test_a_time_without_a_year_is_ignored() -> None:
    event = kernel_log.parse("Dec 31 23:59:59 node1 kernel: NVRM: Xid (PCI:0000:19:00): 79, GPU has fallen off the bus.").xids[0]
    assert event.time == ""


def test_sxids_and_their_continuation_lines() -> None:
    text = (
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Non-fatal, Link 46 MC TS crumbstore MCTO (First)\n"
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Severity 0 Engine instance 46 Sub-engine instance 00\n"
        "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 28006, Data {0x00140004, 0x00100000}\n"
        "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n"
        "nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 12028\n"
    )
    events = kernel_log.parse(text)
    assert [(e.code, kernel_log.is_fatal_sxid(e)) for e in events.sxids] == [(28006, False), (20034, True), (12028, True)]
    assert events.xids == ()


@given(st.text(min_size=1))
def test_any_log_is_read_or_refused(text: str) -> None:
    try:
        events = kernel_log.parse(text)
    except UnreadableLogError:
        assert not text.strip()
    else:
        assert len(events.xids) <= text.count("Xid (")


class Tools:
    """Answers by the name of the command."""

    def __init__(self, **answers: CommandResult) -> None:
        self.answers = answers
        self.asked: list[str] = []

    def run(self, argv: Sequence[str], timeout_s: float = 20) -> CommandResult:
        assert timeout_s > 0
        self.asked.append(argv[0])
        return self.answers.get(argv[0], CommandResult(None, error=f"{argv[0]}: No such file or directory"))


def test_the_journal_is_enough() -> None:
    line = "2026-11-20T08:00:00+00:00 kernel: {}\n"
    tools = Tools(journalctl=CommandResult(0, line.format("Linux version 6.8") + line.format("NVRM: Xid (PCI:0000:19:00): 79, x")))
    assert kernel_log.read(tools).xids[0].time == "2026-11-20T08:00:00+00:00"
    assert tools.asked == ["journalctl"]


def test_dmesg_without_a_journal() -> None:
    tools = Tools(dmesg=CommandResult(0, "2026-11-20T08:00:00,1+00:00 Linux version 6.8\n"))
    assert kernel_log.read(tools) == KernelEvents((), ())


@pytest.mark.parametrize(
    "answers",
    [
        {},
        {"journalctl": CommandResult(0, "")},
        {"journalctl": CommandResult(1, "", "No journal files were found.")},
        {"journalctl": CommandResult(None, error="timed out after 20 s"), "dmesg": CommandResult(0, "")},
        {"dmesg": CommandResult(1, "", "dmesg: read kernel buffer failed: Operation not permitted")},
    ],
)
def test_no_log_is_not_a_log_without_errors(answers: dict[str, CommandResult]) -> None:
    with pytest.raises(UnreadableLogError):
        kernel_log.read(Tools(**answers))


def test_only_this_boot_is_read_from_the_journal() -> None:
    assert boot_log.JOURNAL[boot_log.JOURNAL.index("-b") + 1] == "0"


def test_the_catalogue() -> None:
    assert action_for(79) is Action.RESTART_BM
    assert action_for(119) is Action.RESET_GPU
    assert action_for(31) in HARMLESS
    assert action_for(145) is Action.CHECK_NVLINK
    assert action_for(12345) is Action.CONTACT_SUPPORT
    assert set(Action) - HARMLESS == set(HINTS)
    assert len(CATALOGUE) > 100


@pytest.mark.parametrize("instance", ["", " GPU-I:05", " GPU-I:01 GPU-CI:02", " GPU-I:00 GPU-CI:00"])
def test_an_xid_of_a_part_of_a_gpu(instance: str) -> None:
    line = f"[  400.000001] NVRM: Xid (PCI:0000:1b:00{instance}): 94, pid=7194, name=python, Contained: CE User Channel (0x9). RST: No, D-RST: No"
    (event,) = kernel_log.parse(f"[    0.000000] Linux version 6.8\n{line}\n").xids
    assert (event.code, event.pci) == (94, "0000:1b:00")


@pytest.mark.parametrize(
    ("words", "action"),
    [
        ("0x0 (None) to 0x1 (PF FLR)", Action.RESET_GPU),
        ("0x0 (None) to 0x2 (OS Reboot)", Action.RESTART_BM),
        ("0x0 (None) to 0x2 (Node Reboot Required)", Action.RESTART_BM),
        ("0x1 (PF FLR) to 0x0 (None)", Action.IGNORE),
        ("0x0 (None) to 0x1 (Words of a later driver)", Action.RESET_GPU),
        ("0x0 (None) to 0x4 (Drain and Reset)", Action.RESET_GPU),
        ("0x0 (None) to 0x5 (Recover IMEX Domain)", Action.ACTION_IN_MESSAGE),
        ("0x0 (None) to 0x7 (Words of a later driver)", Action.RESTART_BM),
        ("0x0 (None) to 0x9 (Something New)", Action.ACTION_IN_MESSAGE),
        ("0x0 (None) to (PF FLR)", Action.ACTION_IN_MESSAGE),
    ],
)
def test_the_action_that_a_driver_recommends(words: str, action: Action) -> None:
    assert recovery_action(f"GPU recovery action changed from {words}") is action
