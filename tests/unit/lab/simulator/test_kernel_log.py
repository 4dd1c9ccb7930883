from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import dmesg, fault_effects, kernel_log, link_messages, link_type, machine
from clusterctl_lab.simulator.state import Fault, Faults
from clusterctl_validators import link_log, nvidia
from clusterctl_validators.kernel_log import parse

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> kernel_log.KernelLog:
    os.mkfifo(tmp_path / "kmsg")
    monkeypatch.setattr(kernel_log, "KMSG", str(tmp_path / "kmsg"))
    monkeypatch.setattr(kernel_log, "RING", str(tmp_path / "ring"))
    monkeypatch.setattr(dmesg, "RING", str(tmp_path / "ring"))
    return kernel_log.KernelLog()


def read_record(path: str) -> str:
    pipe = os.open(path, os.O_RDONLY)
    try:
        return os.read(pipe, 8192).decode()
    finally:
        os.close(pipe)


def test_journald_gets_one_record_at_a_time(log: kernel_log.KernelLog) -> None:
    for text in ("one", "two", "three"):
        log.log(text)
    seen = []
    while log.pump():
        log.pump()  # the first record has not been read, so nothing may be added
        seen.append(read_record(kernel_log.KMSG))
    seen.append(read_record(kernel_log.KMSG))
    assert [s.rpartition(";")[2] for s in seen] == ["one\n", "two\n", "three\n"]
    assert [s.split(",")[:2] for s in seen] == [["6", "0"], ["6", "1"], ["6", "2"]]


@pytest.mark.parametrize("style", ["", "--time-format iso", "-T", "-t"])
def test_dmesg_prints_what_was_logged(log: kernel_log.KernelLog, style: str, capsys: pytest.CaptureFixture[str]) -> None:
    log.log("hello; with, separators")
    assert dmesg.main(["dmesg", *style.split()]) == 0
    assert capsys.readouterr().out.endswith("hello; with, separators\n")


def test_dmesg_filters_by_level(log: kernel_log.KernelLog, capsys: pytest.CaptureFixture[str]) -> None:
    log.log("bad", "err")
    log.log("fine")
    dmesg.main(["dmesg", "-l", "err,warn"])
    assert capsys.readouterr().out.count("\n") == 1


@pytest.mark.parametrize("code", ["48", "64", "79", "119"])
def test_the_validators_parse_an_xid(log: kernel_log.KernelLog, code: str, capsys: pytest.CaptureFixture[str]) -> None:
    fault_effects.log_fault(Fault("xid", "3", code), "n1", log)
    dmesg.main(["dmesg", "--time-format", "iso"])
    event = parse(capsys.readouterr().out).xids[0]
    assert event.code == int(code)
    assert machine.THIS.gpu_addresses[3].startswith(event.pci)
    assert event.time.startswith("20")


@pytest.mark.parametrize(("code", "harmless"), [("145", True), ("149", False), ("79", False), ("63", True)])
def test_an_xid_of_the_lab_is_judged_as_a_real_one(
    log: kernel_log.KernelLog, code: str, harmless: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    fault_effects.log_fault(Fault("xid", "3", code), "n1", log)
    dmesg.main(["dmesg", "--time-format", "iso"])
    (event,) = nvidia.events_of(capsys.readouterr().out.splitlines()).gpus
    assert event.harmless is harmless


def test_a_row_remap_failure_logs_both_xids(log: kernel_log.KernelLog, capsys: pytest.CaptureFixture[str]) -> None:
    fault_effects.log_fault(Fault("ecc_uncorrectable", "2"), "n1", log)
    fault_effects.log_fault(Fault("hca_degraded", "mlx5_3", "0.5"), "n1", log)
    dmesg.main(["dmesg"])
    assert [e.code for e in parse(capsys.readouterr().out).xids] == [48, 64]


@pytest.mark.parametrize("ethernet", [True, False])
def test_adapters_log_their_links_at_boot(
    log: kernel_log.KernelLog, ethernet: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(link_type, "is_ethernet", lambda: ethernet)
    link_messages.log_hcas(log, Faults((Fault("hca_pcie_lanes", "mlx5_3", "8"),)))
    dmesg.main(["dmesg", "--time-format", "iso"])
    text = capsys.readouterr().out
    assert text.count(": Link up") == (len(machine.THIS.hca_names) if ethernet else 0)
    found = link_log.parse(text)
    assert found.losses == ()
    assert [found.bandwidths[a].lanes for a in machine.THIS.hca_addresses] == [None, None, None, 8, None, None, None, None]
    assert found.bandwidths[machine.THIS.hca_addresses[3]].generation == machine.THIS.pcie_gen


@pytest.mark.parametrize("ethernet", [True, False])
def test_a_link_that_flaps_is_seen_in_the_log_or_in_the_counter(
    log: kernel_log.KernelLog, tmp_path: Path, ethernet: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(link_type, "is_ethernet", lambda: ethernet)
    fault = Fault("link_flaps", "mlx5_3", "12")
    link_messages.log_hcas(log, Faults())
    fault_effects.log_fault(fault, "n1", log)
    fault_effects.apply_faults(Faults((fault,)), str(tmp_path))
    dmesg.main(["dmesg", "--time-format", "iso"])
    lost = [loss.pci for loss in link_log.parse(capsys.readouterr().out).losses]
    assert lost == ([machine.THIS.hca_addresses[3]] * 12 if ethernet else [])
    assert (tmp_path / "class/infiniband/mlx5_3/ports/1/counters/link_downed").read_text().strip() == "12"
