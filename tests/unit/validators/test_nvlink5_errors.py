"""XIDs 144 to 150 by their registers, on recorded lines and on every row of NVIDIA's catalogue."""

from __future__ import annotations

from collections import Counter
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clusterctl_validators import kernel_log, nvidia, nvlink5_errors
from clusterctl_validators.nvlink5_errors import CODES, Investigation, Resolution, decode
from support.recorded import recorded

LINE = "[  400.0] NVRM: Xid (PCI:0008:01:00): {}"
RECORDED = [
    # text, unit, resolution, investigation, link
    (
        "149, NETIR_LINK_EVT  Fatal   XC0 i0 Link 01 (0x021425c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
        ("NETIR_LINK_DOWN", Resolution.RESET_GPU, Investigation.PEER, 1),
    ),
    (
        "149, NETIR_LINK_EVT Fatal XC0 i0 Link 08 (0x004505c6 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
        ("NETIR_LINK_DOWN", Resolution.RESET_GPU, Investigation.LINK_SIGNAL, 8),
    ),
    (
        "149, NETIR Fatal XC0 i0 Link -1 (0x000fe406 0x00000000 0x00000000 0x00000000 0x00000000 0x00000000)",
        ("NETIR_INT", Resolution.RESET_GPU, Investigation.REPORT_IF_ALONE, None),
    ),
    (
        "149, NETIR_BER_EVENT Nonfatal XC0 i0 Link 01 (0x00082226 0x00000001 0x00000000 0x00000000 0x00000000 0x00000000)",
        ("NETIR_BER_EVENT", Resolution.IGNORE, Investigation.LINK_AND_CABLES, 1),
    ),
    (
        "145, pid=876767, name=ray::WorkerDict, RLW_RXPIPE Nonfatal XC0 i0 Link 13 (0x0409a0c2 0x00000008 0x00000001 0x00000000 0x00100000)",
        ("RLW_RXPIPE", Resolution.IGNORE, Investigation.SUPPORT, 13),
    ),
    (
        "145, RLW_SRC_TRACK Nonfatal XC1 i0 Link 12 (0x040988e2 0x00000008 0x00000000 0x00000000 0x00000000 0x00000000)",
        ("RLW_SRC_TRACK", Resolution.AS_XID_154, Investigation.NONE, 12),
    ),
    # the newer layout of the registers
    (
        "145, RLW_REMAP Fatal XC0 i0 Link 00 (0x00000004 0x00000040 0x00000000 0x00000000)",
        ("RLW_REMAP", Resolution.RESET_GPU, Investigation.SUPPORT, 0),
    ),
    (
        "146, TLW_RX/TLW_RX_PIPE1 Nonfatal XC0 i0 Link 00 (0x0000000b 0x00000001 0x00000000 0x00000000)",
        ("TLW_RX", Resolution.IGNORE, Investigation.NONE, 0),
    ),
    ("150, MSE_WATCHDOG Fatal XC0 i0 Link 00 (0x00000000 0x00000000)", ("MSE_WATCHDOG", Resolution.RESET_GPU, Investigation.SUPPORT, 0)),
]
UNKNOWN = [
    "145, RLW_REMAP Nonfatal XC0 i0 Link 02",
    "145, RLW_RXPIPE Nonfatal XC0 i0 Link 11 (...)",
    "149, Placeholder message",
    # no unit, a status and a reason that the catalogue does not list
    "144, SAW_EGR Nonfatal XC0 i0 Link 00 (0x00000004 0x00000001 0x00000000 0x00000000)",
    "145, RLW_RSPCOL Nonfatal XC0 i0 Link 00 (0x00000005 0x00000004 0x00000000 0x00000000)",
    "145, RLW_RSPCOL Nonfatal XC0 i0 Link 00 (0x00000005 0x00000000 0x00000000 0x00000000)",
    "149, NETIR_LINK_EVT Fatal XC0 i0 Link 00 (0x03f001c6 0x00000000 0x00000000 0x00000000)",
    "145, RLW_RXPIPE Nonfatal XC0 i0 Link 00 (0x000004c2 0x00000001 0x00000000 0x00000000)",
]


def meaning(text: str) -> nvlink5_errors.Meaning | None:
    (event,) = kernel_log.parse(LINE.format(text)).xids
    return decode(event.code, event.detail)


@pytest.mark.parametrize(("text", "expected"), RECORDED)
def test_recorded_lines(text: str, expected: tuple[object, ...]) -> None:
    assert meaning(text) == expected


@pytest.mark.parametrize("text", UNKNOWN)
def test_what_the_catalogue_does_not_list_requires_action(text: str) -> None:
    assert meaning(text) is None
    (event,) = nvidia.events_of([LINE.format(text)]).gpus
    assert not event.harmless
    assert "nvidia-smi nvlink -e" in event.action


# Bits that the newer layout leaves free, and no unit of the older one has.
NOT_OLDER = 0x300
# Rows of the catalogue by XID: those that demand a reset, those that wait for XID 154, those that are ignored.
ROWS = {144: (2, 0, 4), 145: (9, 8, 16), 146: (5, 0, 15), 147: (0, 0, 2), 148: (0, 0, 1), 149: (24, 0, 7), 150: (1, 0, 0)}


@pytest.mark.parametrize("code", sorted(CODES))
def test_every_row_of_the_catalogue_is_known(code: int) -> None:
    found: Counter[Resolution] = Counter()
    for unit, reason, status in product(range(128), range(64), [*range(8), *(1 << bit for bit in range(3, 32))]):
        listed = decode(code, f"X (0x{reason << 20 | NOT_OLDER | unit:08x} 0x{status:08x} 0x00000000)")
        alone = listed and (not status & (status - 1) or listed.unit in ("NETIR_BER_EVENT", "NETIR_MFDE_EVENT"))
        if listed and alone:
            found[listed.resolution] += 1
    newer = tuple(found[r] for r in (Resolution.RESET_GPU, Resolution.AS_XID_154, Resolution.IGNORE))
    assert newer == ROWS[code]


def test_several_bits_are_as_serious_as_the_worst_and_unknown_with_an_unknown_one() -> None:
    both = decode(145, "RLW_SRC_TRACK Nonfatal (0x00000007 0x00000003 0x00000000)")
    assert both is not None
    assert both.resolution is Resolution.RESET_GPU
    assert decode(145, "RLW_SRC_TRACK Nonfatal (0x00000007 0x00000042 0x00000000)") is None


def test_an_error_that_is_fatal_is_never_ignored() -> None:
    for text in (
        "145, RLW_RXPIPE Fatal XC0 i0 Link 03 (0x000000c2 0x00000001 0x00000000)",
        "149, NETIR_LINK_EVT Fatal XC0 i0 Link 03 (0x026001c6 0x00000000 0x00000000)",
    ):
        found = meaning(text)
        assert found is not None
        assert found.resolution is Resolution.RESET_GPU


def test_who_is_at_fault_is_in_the_advice() -> None:
    by_peer, by_cable, ignored = (nvidia.events_of([LINE.format(RECORDED[i][0])]).gpus[0] for i in (0, 3, 7))
    assert "link 1 was taken down by its other end" in by_peer.action
    assert not by_peer.harmless
    assert "signal of link 1" in by_cable.action
    assert by_cable.harmless
    assert by_cable.notable
    assert ignored.harmless
    assert not ignored.notable


@given(st.sampled_from(sorted(CODES)), st.text())
def test_any_text_is_decoded_or_unknown(code: int, text: str) -> None:
    found = decode(code, text)
    assert found is None or nvlink5_errors.advice(found)


@given(st.sampled_from(sorted(CODES)), st.integers(0, 2**32 - 1), st.integers(0, 2**32 - 1))
def test_all_registers_are_decoded_or_unknown(code: int, first: int, status: int) -> None:
    found = decode(code, f"RLW Fatal Link 3 (0x{first:08x} 0x{status:08x} 0x00000000)")
    assert found is None or found.resolution is Resolution.RESET_GPU


def test_the_recorded_sequence_of_gb200() -> None:
    events = nvidia.events_of(recorded("dmesg/gb200-xid149-xid154-sequence.txt").read_text().splitlines()).gpus
    assert {e.code for e in events} == {149, 154}
    assert not any(e.harmless for e in events)
    assert all("reset the GPU" in e.action for e in events)


@pytest.mark.parametrize(
    ("text", "harmless", "advice"),
    [
        ("changed from 0x4 (Drain and Reset) to 0x0 (None)", True, ""),
        ("changed from 0x0 (None) to 0x2 (Node Reboot Required)", False, "reboot the node"),
        ("changed from 0x0 (None) to 0x3 (Drain P2P)", False, "end all programs that use NVLink"),
        ("changed from 0x0 (None) to 0x9 (Something New)", False, "last brackets"),
        ("... Node Reboot Required", False, "last brackets"),
    ],
)
def test_the_action_of_the_driver(text: str, harmless: bool, advice: str) -> None:
    (event,) = nvidia.events_of([LINE.format(f"154, GPU recovery action {text}")]).gpus
    assert event.harmless is harmless
    assert advice in event.action
