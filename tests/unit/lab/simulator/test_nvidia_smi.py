from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from typing import TYPE_CHECKING

import pytest

from clusterctl.core.parsers import parse_output
from clusterctl_lab.simulator import gpu_modes, machine, nvidia_smi
from clusterctl_tools.gpu import UnreadableGpuError
from clusterctl_tools.nvidia_smi import load_argv, nvlink_counters, parse_load, parse_nvlinks, parse_query, parse_topology
from clusterctl_tools.nvlink_losses import losses_by_gpu
from support.lab_machine import LabMachine, lab_machine
from support.recorded import recorded

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "580.126.20"


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.gpu_stack(VERSION)
    return made


class Smi:
    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self.capsys = capsys
        self.code = 0

    def __call__(self, words: str, version: str = VERSION) -> str:
        self.code = nvidia_smi.main(["nvidia-smi", *words.split()], version)
        return self.capsys.readouterr().out


@pytest.fixture
def smi(capsys: pytest.CaptureFixture[str]) -> Smi:
    return Smi(capsys)


def paths(element: ET.Element, at: str = "") -> set[str]:
    here = f"{at}/{element.tag}"
    return {here}.union(*(paths(child, here) for child in element))


def test_the_xml_has_only_tags_of_the_real_tool(node: LabMachine, smi: Smi) -> None:
    real = ET.fromstring(recorded("nvidia-smi/sparecores/gcp-a3-megagpu-8g.xml").read_text())  # noqa: S314 a recording
    ours = ET.fromstring(smi("-q -x"))  # noqa: S314 our own
    assert paths(ours) - paths(real) == set()


def test_a_healthy_board_shows_healthy_values(node: LabMachine, smi: Smi) -> None:
    log = parse_query(smi("-q -x"))
    assert (log.driver_version, log.runtime_version, log.attached, len(log.gpus)) == (VERSION, "13.0", 8, 8)
    for gpu in log.gpus:
        assert (gpu.model, gpu.memory_mib, gpu.pcie_gen_max, gpu.pcie_width_current) == (machine.THIS.gpu_model, 81559, 5, 16)
        assert (gpu.persistence, gpu.fabric_state, gpu.fabric_status) == ("Enabled", "Completed", "Success")
        assert (gpu.remap_failure, gpu.remapped_uncorrectable, gpu.volatile.dram_uncorrectable) == ("No", 0, 0)
    assert parse_nvlinks(smi("nvlink -s")) == dict.fromkeys(range(8), dict.fromkeys(range(18), 26.562))
    # The same letter alone sets ECC.
    assert smi("nvlink -e").count("CRC Errors: 0") == 8 * 18
    assert losses(smi) == {gpu: {0} for gpu in range(8)}
    topology = parse_topology(smi("topo -m"))
    assert all(topology[f"mlx5_{i}"][i] == "PIX" for i in range(8))
    assert topology["mlx5_0"][1] == "NODE"
    assert topology["mlx5_0"][7] == "SYS"


def losses(smi: Smi) -> dict[int, set[int]]:
    return {gpu: set(own.values()) for gpu, own in losses_by_gpu(nvlink_counters(smi("nvlink -e"))).items()}


def test_an_nvlink_that_flaps_is_counted_on_and_on(node: LabMachine, smi: Smi) -> None:
    for number in (3, 12):
        (node.root / "faults.json").unlink(missing_ok=True)
        node.inject_fault("nvlink_flaps", "2", str(number))
        assert {gpu: max(own) for gpu, own in losses(smi).items() if own != {0}} == {2: number}


def test_without_daemons_persistence_and_fabric_are_off(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, smi: Smi) -> None:
    made = lab_machine(tmp_path, monkeypatch)
    made.install(nvidia_utils_580=VERSION)
    made.load(nvidia=VERSION)
    gpu = parse_query(smi("-q -x")).gpus[0]
    assert (gpu.persistence, gpu.fabric_state) == ("Disabled", "In Progress")


def test_a_missing_gpu_is_not_listed(node: LabMachine, smi: Smi) -> None:
    node.inject_fault("gpu_missing", "5")
    log = parse_query(smi("-q -x"))
    assert (log.attached, len(log.gpus)) == (7, 7)
    assert not any(machine.THIS.gpu_addresses[5] in g.bus_id.lower() for g in log.gpus)
    assert smi("-L").count("UUID") == 7


def test_a_row_remap_failure_affects_only_its_gpu(node: LabMachine, smi: Smi) -> None:
    node.inject_fault("ecc_uncorrectable", "2")
    gpus = parse_query(smi("-q -x")).gpus
    assert [g.remap_failure for g in gpus].index("Yes") == 2
    assert gpus[2].aggregate.dram_uncorrectable == gpus[2].remapped_uncorrectable == 8
    rows = smi("--query-remapped-rows=gpu_uuid,remapped_rows.failure --format=csv,noheader").splitlines()
    assert [r.endswith("Yes") for r in rows].count(True) == 1


def test_a_gpu_that_fell_off_the_bus_makes_the_tool_fail(node: LabMachine, smi: Smi) -> None:
    node.inject_fault("xid", "3", "79")
    text = smi("-q -x")
    assert smi.code == 15
    with pytest.raises(UnreadableGpuError) as caught:
        parse_query(text)
    assert caught.value.lost
    variants = recorded("nvidia-smi/lost-gpu-stderr-variants.txt").read_text().splitlines()
    assert re.sub(r"GPU\d+: \S+", "X", text.strip()) == re.sub(r"GPU\d+: \S+", "X", variants[0])
    assert smi("-L").count("UUID") == 7


def test_an_upgrade_without_a_reboot_is_a_version_mismatch(node: LabMachine, smi: Smi) -> None:
    node.load(nvidia="580.65.06")
    assert smi("-q -x").startswith("Failed to initialize NVML: Driver/library version mismatch")
    assert smi.code == 18


def test_without_a_driver_it_fails_with_the_real_message(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, smi: Smi) -> None:
    lab_machine(tmp_path, monkeypatch)
    assert smi("").startswith("NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.")
    assert smi.code == 9


def test_query_output_parses(node: LabMachine, smi: Smi) -> None:
    text = smi(
        "--query-gpu=index,name,pci.bus_id,driver_version,temperature.gpu,memory.total,power.draw,pcie.link.width.current --format=csv"
    )
    assert text.splitlines()[0] == (
        "index, name, pci.bus_id, driver_version, temperature.gpu, memory.total [MiB], power.draw [W], pcie.link.width.current"
    )
    assert len(parse_output("nvidia_smi_query", text)) > 8
    assert smi("--query-gpu=name,memory.total --format=csv,noheader,nounits").splitlines()[0] == f"{machine.THIS.gpu_model}, 81559"


def test_a_query_of_one_gpu(node: LabMachine, smi: Smi) -> None:
    (gpu,) = parse_load(smi(" ".join(load_argv(3)[1:])))
    assert gpu.index == 3
    assert len(parse_load(smi(" ".join(load_argv()[1:])))) == 8
    assert "No devices were found" in smi("--query-gpu=index --format=csv -i 9")
    assert smi.code == 6


def test_fields_and_commands_that_are_not_simulated_are_refused(node: LabMachine, smi: Smi) -> None:
    assert "not a valid field" in smi("--query-gpu=colour --format=csv")
    assert smi.code == 2
    assert "not simulated" in smi("mig -lgip")
    assert smi.code == 2


def test_persistence_mode_can_be_set(node: LabMachine, smi: Smi) -> None:
    smi("-pm 0")
    assert parse_query(smi("-q -x")).gpus[0].persistence == "Disabled"
    smi("-pm 1")
    assert parse_query(smi("-q -x")).gpus[0].persistence == "Enabled"


def test_table_and_plain_text_show_driver_and_gpus(node: LabMachine, smi: Smi) -> None:
    assert f"Driver Version: {VERSION}" in smi("")
    assert "Attached GPUs                             : 8" in smi("-q")
    assert "simulated" in smi("--version")


def test_a_boot_keeps_ecc_and_resets_power_limit_and_mig(node: LabMachine, smi: Smi) -> None:
    assert "was set to 650.00 W from 700.00 W" in smi("-i 2 -pl 650")
    assert "Reboot required" in smi("--id=2 --ecc-config=0")
    assert "Enabled MIG Mode" in smi("-mig 1")
    gpus = parse_query(smi("-q -x")).gpus
    assert [g.power_limit_w for g in gpus[1:4]] == [700, 650, 700]
    assert (gpus[2].ecc_current, gpus[2].ecc_pending, gpus[1].ecc_pending) == ("Enabled", "Disabled", "Enabled")
    assert {(g.mig_current, g.mig_pending) for g in gpus} == {("Enabled", "Enabled")}
    (node.root / "run" / "gpu-modes.json").unlink()
    gpu_modes.on_boot()
    gpus = parse_query(smi("-q -x")).gpus
    assert (gpus[2].ecc_current, gpus[2].ecc_pending) == ("Disabled", "Disabled")
    assert (gpus[2].power_limit_w, gpus[2].mig_current) == (700, "Disabled")
    assert gpus[1].ecc_current == "Enabled"


def test_a_power_limit_out_of_range_is_refused(node: LabMachine, smi: Smi) -> None:
    assert "between 200.00 W and 700.00 W" in smi("--power-limit=701")
    assert smi.code == 2
    assert {g.power_limit_w for g in parse_query(smi("-q -x")).gpus} == {700}
