from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_tools.nvidia_smi import parse_query
from clusterctl_validators import test_hardware as module
from clusterctl_validators.finding import GOOD, Finding, Outcome, Severity
from clusterctl_validators.gpu_health import Limits, memory_rules
from clusterctl_validators.probe import CommandResult
from support.checks import run_checks, write_files
from support.gpu_node import BOOTED, JOURNAL, QUERY, declared, edit_gpu, lay_hcas, lay_pci, nvlinks, smi_xml, topology, without_gpus
from support.nvlink_output import nvlink_counters
from support.plain_yaml import load_yaml
from support.recorded import recorded
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

CASES = sorted((ROOT / "tests" / "cases" / "gpu_faults").iterdir())
LSCPU = "lscpu -J"
LSBLK = "lsblk -J -o NAME,TYPE,MOUNTPOINT"


def spec(**changes: Any) -> dict[str, Any]:
    # The recorded machine is virtual: 52 cores, PCIe of generation 4.
    return declared("hardware", **{"hardware_cpu_cores_per_socket": 52, "hardware_gpu_pcie_gen": 4, **changes})


def commands(**changes: CommandResult | str) -> dict[str, CommandResult | str]:
    disks = [{"name": f"nvme{i}n1", "type": "disk", "mountpoint": None} for i in range(8)]
    system = {"name": "nvme8n1", "type": "disk", "mountpoint": None, "children": [{"name": "nvme8n1p1", "type": "part", "mountpoint": "/"}]}
    healthy: dict[str, CommandResult | str] = {
        QUERY: smi_xml(),
        "nvidia-smi nvlink -s": nvlinks(),
        "nvidia-smi nvlink -e": nvlink_counters(),
        "nvidia-smi topo -m": topology(),
        JOURNAL: BOOTED,
        LSCPU: recorded("lscpu/sparecores-gcp-a3-highgpu-8g.json").read_text(),
        LSBLK: json.dumps({"blockdevices": [*disks, system]}),
    }
    names = {
        "query": QUERY,
        "nvlink": "nvidia-smi nvlink -s",
        "topo": "nvidia-smi topo -m",
        "journal": JOURNAL,
        "lscpu": LSCPU,
        "lsblk": LSBLK,
    }
    return {**healthy, **{names[k]: v for k, v in changes.items()}}


def lay(root: Path, *, gpus: int = 8, memory_kib: int = 2113376000, **hcas: dict[str, str]) -> Path:
    lay_hcas(root, **hcas)
    lay_pci(root, gpus)
    return write_files(
        root,
        {
            "/etc/os-release": 'PRETTY_NAME="Ubuntu 24.04.3 LTS"\nNAME="Ubuntu"\nVERSION_ID="24.04"\nID=ubuntu\nID_LIKE=debian\n',
            "/sys/class/dmi/id/product_name": "SYS-821GE-TNHR\n",
            "/proc/meminfo": f"MemTotal:       {memory_kib} kB\nMemFree: 1 kB\n",
            "/sys/devices/system/node/node0/cpulist": "0-51",
            "/sys/devices/system/node/node1/cpulist": "52-103",
        },
    )


def check(root: Path, **changes: CommandResult | str) -> dict[str, Finding]:
    return run_checks(module, spec(), lay(root), commands(**changes))


def bad(findings: dict[str, Finding]) -> dict[str, Finding]:
    return {k: f for k, f in findings.items() if f.outcome not in GOOD}


def test_a_healthy_node_passes_every_check(tmp_path: Path) -> None:
    findings = check(tmp_path)
    assert bad(findings) == {}
    assert sum(f.outcome is Outcome.PASS for f in findings.values()) > 150


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.name)
def test_a_fault_of_one_gpu_is_the_only_failure(case: Path, tmp_path: Path) -> None:
    outputs = load_yaml((case / "case.yml").read_text())
    findings = bad(check(tmp_path, query=edit_gpu(smi_xml(), outputs["gpu"], outputs["edits"])))
    at = f"hardware.gpu[{outputs['gpu']}]."
    assert {k: f.found for k, f in findings.items()} == {at + name: found for name, found in outputs["fails"].items()}
    for finding in findings.values():
        assert finding.outcome is Outcome.FAIL
        assert outputs["hint"] in finding.hint
        assert "serial 165" in finding.hint


def test_a_recorded_gpu_with_many_uncorrected_errors_on_few_rows_fails() -> None:
    limits = Limits(10000, 20000000, 4, spec()["hardware_ecc_aggregate_dram_uncorrectable_max"], spec()["hardware_remapped_rows_max"], 59)
    gpus = parse_query(recorded("nvidia-smi/sparecores/gcp-a2-megagpu-16g.xml").read_text()).gpus
    broken = [(gpu.index, rule.name, rule.found) for gpu in gpus for rule in memory_rules(gpu, limits) if not rule.holds]
    assert broken == [(12, "ecc.aggregate.dram_uncorrectable", 478)]


def test_a_bank_with_few_spare_rows_is_a_warning(tmp_path: Path) -> None:
    findings = check(tmp_path, query=edit_gpu(smi_xml(), 2, {"<row_remapper_histogram_low>0 bank": "<row_remapper_histogram_low>1 bank"}))
    assert bad(findings) == {}
    warned = findings["hardware.gpu[2].row_remap.banks_with_few_spare_rows"]
    assert (warned.outcome, warned.found) == (Outcome.WARN, "1")


DIMM = "/sys/devices/system/edac/mc/mc0/dimm1/"


@pytest.mark.parametrize(
    ("days", "counted", "outcome"), [(0.1, 10, Outcome.PASS), (0.1, 11, Outcome.FAIL), (30.0, 300, Outcome.PASS), (30.0, 301, Outcome.FAIL)]
)
def test_corrected_errors_of_a_dimm_are_limited_by_the_day(days: float, counted: int, outcome: Outcome, tmp_path: Path) -> None:
    files = {
        DIMM + "dimm_ce_count": f"{counted}\n",
        DIMM + "dimm_label": "CPU_SrcID#0_MC#0_Chan#1_DIMM#0\n",
        "/proc/uptime": f"{86400 * days} 1.0\n",
    }
    findings = run_checks(module, spec(), write_files(lay(tmp_path), files), commands())
    finding = findings["hardware.dimms.corrected"]
    assert finding.outcome is outcome
    assert [k for k in findings if k.startswith("hardware.dimm[")] == (
        ["hardware.dimm[mc0/dimm1].corrected"] if outcome is Outcome.FAIL else []
    )
    assert outcome is Outcome.PASS or finding.found == f"mc0/dimm1 CPU_SrcID#0_MC#0_Chan#1_DIMM#0: {counted}"
    undeclared = run_checks(module, spec(hardware_dimm_corrected_per_day_max=0), tmp_path, commands())["hardware.dimms.corrected"]
    assert undeclared.outcome is Outcome.NOT_APPLICABLE


def test_a_kernel_that_counts_no_memory_errors_gets_a_warning(tmp_path: Path) -> None:
    finding = check(tmp_path)["hardware.dimms.corrected"]
    assert finding.outcome is Outcome.WARN
    assert "EDAC" in finding.hint


def test_a_recorded_tray_with_a_degraded_fabric_fails_by_its_health() -> None:
    gpus = parse_query(recorded("_synthetic-by-source/qx-gb200-fabric-degraded.xml").read_text()).gpus
    assert [g.index for g in gpus if g.fabric_problems or g.fabric_health not in (None, "Healthy")]
    for name in ("qx-gb200.xml", "qx-gb300.xml"):
        healthy = parse_query(recorded(f"nvidia-smi/qx-hardware/{name}").read_text()).gpus
        assert {(g.fabric_problems, g.power_brake) for g in healthy} == {("", "Not Active")}


def test_a_power_brake_at_rest_is_a_finding_of_its_gpu(tmp_path: Path) -> None:
    name = "clocks_event_reason_hw_power_brake_slowdown"
    found = bad(check(tmp_path, query=edit_gpu(smi_xml(), 6, {f"<{name}>Not Active<": f"<{name}>Active<"})))
    assert set(found) == {"hardware.gpu[6].power_brake"}
    assert "power supplies" in found["hardware.gpu[6].power_brake"].hint


def test_seven_of_eight_gpus(tmp_path: Path) -> None:
    root = lay(tmp_path, gpus=7)
    findings = bad(run_checks(module, spec(), root, commands(query=without_gpus(smi_xml(), 5), nvlink=nvlinks(7))))
    assert {k: (f.expected, f.found) for k, f in findings.items()} == {
        "hardware.gpus.on_pci": ("8", "7"),
        "hardware.gpus.count": ("8", "7"),
        "hardware.gpu[7].nvlinks": ("18", "0"),
    }
    assert findings["hardware.gpus.count"].severity is Severity.CRITICAL
    assert "XID 79" in findings["hardware.gpus.count"].hint


def test_a_gpu_that_the_driver_counts_but_does_not_list_is_missing(tmp_path: Path) -> None:
    xml = without_gpus(smi_xml(), 0).replace("<attached_gpus>7<", "<attached_gpus>8<")
    assert bad(check(tmp_path, query=xml))["hardware.gpus.count"].found == "7"


@pytest.mark.parametrize(
    "line", ["Unable to determine the device handle for GPU1: 0000:02:00.0: Unknown Error", "No devices were found", ""]
)
def test_the_message_of_a_lost_gpu_is_a_hardware_failure(line: str, tmp_path: Path) -> None:
    xml = smi_xml().replace("<remapped_row_pending>No<", "<remapped_row_pending>GPU is lost<")
    found = bad(check(tmp_path, query=CommandResult(6, stdout=line + "\n") if line else xml))
    assert found["hardware.gpus.count"].outcome is Outcome.FAIL
    assert (line or "in place of values of GPU 0 at") in found["hardware.gpus.count"].found
    assert found["hardware.gpus.memory_health"].outcome is Outcome.COULD_NOT_RUN


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (CommandResult(None, error="nvidia-smi: No such file or directory"), "No such file"),
        (CommandResult(None, error="timed out after 60 s"), "timed out"),
        (CommandResult(18, stdout="Failed to initialize NVML: Driver/library version mismatch\n"), "version mismatch"),
        ("", "printed nothing"),
        ("<?xml version='1.0'?><nvidia_smi_log><driver_version>580.126.20</driver_version>", "is truncated"),
        ("<html></html>", "not the XML"),
    ],
)
def test_a_failed_nvidia_smi_is_neither_pass_nor_failure(answer: CommandResult | str, reason: str, tmp_path: Path) -> None:
    findings = check(tmp_path, query=answer)
    silent = [k for k in findings if k.startswith("hardware.gpus.") and k not in {"hardware.gpus.on_pci", "hardware.gpus.nvlinks"}]
    assert len(silent) == 7
    for name in silent:
        assert findings[name].outcome is Outcome.COULD_NOT_RUN
        assert findings[name].severity is Severity.CRITICAL
        assert reason in findings[name].reason


def test_a_value_that_is_not_reported_is_not_a_pass(tmp_path: Path) -> None:
    xml = edit_gpu(smi_xml(), 0, {"<remapped_row_pending>No<": "<remapped_row_pending>N/A<", "<max_link_gen>4<": "<max_link_gen>N/A<"})
    found = bad(check(tmp_path, query=xml))
    assert {k: f.outcome for k, f in found.items()} == {
        "hardware.gpu[0].row_remap.pending": Outcome.COULD_NOT_RUN,
        "hardware.gpu[0].pcie_gen_max": Outcome.COULD_NOT_RUN,
    }


@pytest.mark.parametrize("text", ["Unknown Error", "GPU requires reset", "yes?"])
@pytest.mark.parametrize(
    ("element", "check_name"),
    [
        ("remapped_row_pending", "row_remap.pending"),
        ("remapped_row_failure", "row_remap.failure"),
        ("sram_threshold_exceeded", "ecc.aggregate.sram_threshold_exceeded"),
        ("unrepairable_memory", "unrepairable_memory"),
    ],
)
def test_a_flag_that_is_neither_yes_nor_no_sends_no_gpu_back(tmp_path: Path, element: str, check_name: str, text: str) -> None:
    found = bad(check(tmp_path, query=edit_gpu(smi_xml(), 0, {f"<{element}>No<": f"<{element}>{text}<"})))
    assert {k: (f.outcome, f.hint) for k, f in found.items()} == {f"hardware.gpu[0].{check_name}": (Outcome.COULD_NOT_RUN, "")}


def test_retired_pages_are_checked_without_row_remapping(tmp_path: Path) -> None:
    xml = recorded("nvidia-smi/sparecores/aws-p3.16xlarge.xml").read_text()
    xml = edit_gpu(xml, 1, {"<pending_retirement>No<": "<pending_retirement>Yes<"})
    variables = spec(
        hardware_gpu_model="",
        hardware_gpu_memory_min_mib=0,
        hardware_gpu_pcie_gen=3,
        hardware_gpu_power_limit_w=0,
        hardware_gpu_fabric=False,
    )
    findings = run_checks(module, variables, lay(tmp_path), commands(query=xml))
    assert findings["hardware.gpu[0].retired_pages.count"].outcome is Outcome.PASS
    assert findings["hardware.gpu[1].retired_pages.pending"].outcome is Outcome.FAIL
    assert "hardware.gpu[0].row_remap.failure" not in findings


def test_a_slow_nvlink(tmp_path: Path) -> None:
    lines = nvlinks().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("GPU 5")) + 4
    lines[at] = lines[at].replace("26.562", "25.781")
    (only,) = bad(check(tmp_path, nvlink="\n".join(lines))).items()
    assert (only[0], only[1].expected, only[1].found) == ("hardware.gpu[5].nvlink_rate", ">= 26.562 GB/s", "link 3: 25.781 GB/s")


def test_an_undeclared_rate_is_not_judged(tmp_path: Path) -> None:
    findings = run_checks(
        module, spec(hardware_gpu_nvlink_gb_per_s=0.0), lay(tmp_path), commands(nvlink=nvlinks().replace("26.562", "25.781"))
    )
    assert bad(findings) == {}


def test_inactive_nvlinks(tmp_path: Path) -> None:
    lines = nvlinks().splitlines()
    at = next(i for i, line in enumerate(lines) if line.startswith("GPU 2")) + 4
    lines[at] = "\t Link 3: <inactive>"
    assert {k: f.found for k, f in bad(check(tmp_path, nvlink="\n".join(lines))).items()} == {"hardware.gpu[2].nvlinks": "17, down: 3"}


def test_a_degraded_hca_is_reported_with_rate_and_hint(tmp_path: Path) -> None:
    root = lay(tmp_path, mlx5_3={"rate": "200 Gb/sec (4X HDR)"})
    found = bad(run_checks(module, spec(), root, commands()))
    assert {k: (f.expected, f.found) for k, f in found.items()} == {"hardware.hca[mlx5_3].rate_gbps": ("400", "200")}
    assert "transceiver" in found["hardware.hca[mlx5_3].rate_gbps"].hint


@pytest.mark.parametrize(
    ("file", "text", "aspect"),
    [
        ("state", "1: DOWN", "state"),
        ("phys_state", "2: Polling", "phys_state"),
        ("link_layer", "Ethernet", "link_layer"),
        ("state", "2: INIT", "state"),
    ],
)
def test_a_port_that_is_not_up(file: str, text: str, aspect: str, tmp_path: Path) -> None:
    found = bad(run_checks(module, spec(), lay(tmp_path, mlx5_0={file: text}), commands()))
    assert set(found) == {f"hardware.hca[mlx5_0].{aspect}"}


def test_a_rate_without_a_number_could_not_run(tmp_path: Path) -> None:
    found = bad(run_checks(module, spec(), lay(tmp_path, mlx5_0={"rate": "unknown"}), commands()))
    assert found["hardware.hca[mlx5_0].rate_gbps"].outcome is Outcome.COULD_NOT_RUN


def test_an_absent_hca_and_pinned_firmware(tmp_path: Path) -> None:
    hcas = [*spec()["hardware_hcas"], {"name": "mlx5_12", "link_layer": "InfiniBand", "rate_gbps": 400}]
    hcas[0] = {**hcas[0], "firmware": "28.43.2566"}
    found = bad(run_checks(module, spec(hardware_hcas=hcas), lay(tmp_path), commands()))
    assert {k: (f.expected, f.found) for k, f in found.items()} == {
        "hardware.hca[mlx5_0].firmware": ("28.43.2566", "28.41.1000"),
        "hardware.hca[mlx5_12].present": ("present", "absent"),
    }


def test_an_hca_on_another_pcie_switch_than_its_gpu(tmp_path: Path) -> None:
    found = bad(check(tmp_path, topo=topology({4: 7})))
    assert {k: f.found for k, f in found.items()} == {"hardware.hca[mlx5_4].gpu": "SYS"}


def without_row(text: str) -> str:
    return "\n".join(line for line in text.splitlines() if not line.startswith("NIC4\t"))


def cut_off(text: str) -> str:
    return "\n".join(line[:20] if line.startswith("NIC4\t") else line for line in text.splitlines())


@pytest.mark.parametrize("edit", [without_row, cut_off])
def test_a_path_that_is_not_printed_is_unknown(edit: Callable[[str], str], tmp_path: Path) -> None:
    found = bad(check(tmp_path, topo=edit(topology())))
    assert {k: (f.outcome, f.reason) for k, f in found.items()} == {
        "hardware.hca[mlx5_4].gpu": (Outcome.COULD_NOT_RUN, "nvidia-smi shows no path between mlx5_4 and GPU 4")
    }


def xid_lines(name: str) -> str:
    return BOOTED + recorded(f"dmesg/{name}").read_text(errors="replace")


def test_xid_79_requires_a_reboot(tmp_path: Path) -> None:
    found = bad(check(tmp_path, journal=xid_lines("xid79-154-chain.txt")))
    assert set(found) == {"hardware.xids", "hardware.xid[79]", "hardware.xid[154]"}
    assert "reboot" in found["hardware.xid[79]"].hint
    assert "0000:02:00" in found["hardware.xid[79]"].found


def test_a_page_fault_of_a_user_program_does_not_fail_a_node(tmp_path: Path) -> None:
    findings = check(tmp_path, journal=xid_lines("gpud-dmesg.decode.iso.log.0.txt").replace("): 48,", "): 31,"))
    assert all(f.outcome in GOOD for k, f in findings.items() if k.startswith("hardware.xid["))
    assert "harmless" in findings["hardware.xids"].found


def test_a_double_bit_error_with_its_time(tmp_path: Path) -> None:
    found = bad(check(tmp_path, journal=xid_lines("gpud-dmesg-time-format-iso.log.txt")))
    assert "2024-11-15T12:02:03" in found["hardware.xid[48]"].found


def test_a_tolerated_xid(tmp_path: Path) -> None:
    findings = run_checks(
        module, spec(hardware_xids_tolerated=[79, 154]), lay(tmp_path), commands(journal=xid_lines("xid79-154-chain.txt"))
    )
    assert bad(findings) == {}


def test_an_unknown_xid_goes_to_support(tmp_path: Path) -> None:
    found = bad(check(tmp_path, journal=BOOTED + "NVRM: Xid (PCI:0000:1a:00): 999, something new\n"))
    assert "support" in found["hardware.xid[999]"].hint


def test_a_fatal_sxid_of_an_nvswitch(tmp_path: Path) -> None:
    line = "2026-11-20T09:00:00+00:00 kernel: nvidia-nvswitch0: SXid (PCI:0000:05:00.0): 20034, Fatal, Link 30 LTSSM Fault Up\n"
    assert set(bad(check(tmp_path, journal=BOOTED + line))) == {"hardware.sxids"}
    other = tmp_path / "other"
    assert bad(check(other, journal=BOOTED + line.replace("Fatal,", "Non-fatal,"))) == {}


@pytest.mark.parametrize("log", ["", CommandResult(1, stderr="Failed to open journal"), CommandResult(None, error="timed out after 20 s")])
def test_a_log_that_cannot_be_read_is_not_a_healthy_log(log: CommandResult | str, tmp_path: Path) -> None:
    found = check(tmp_path, journal=log)["hardware.xids"]
    assert found.outcome is Outcome.COULD_NOT_RUN
    assert found.severity is Severity.CRITICAL


def test_dmesg_is_read_without_a_journal(tmp_path: Path) -> None:
    outputs = commands()
    del outputs[JOURNAL]
    outputs["dmesg --time-format iso"] = xid_lines("gpud-dmesg-time-format-iso.log.txt")
    assert "hardware.xid[48]" in bad(run_checks(module, spec(), lay(tmp_path), outputs))


def test_missing_processors_memory_numa_nodes_and_disks(tmp_path: Path) -> None:
    outputs = commands(lsblk=json.dumps({"blockdevices": [{"name": "nvme0n1", "type": "disk", "mountpoint": "/"}]}))
    variables = spec(hardware_cpu_cores_per_socket=56, hardware_numa_nodes=4)
    found = bad(run_checks(module, variables, lay(tmp_path, memory_kib=1980000000), outputs))
    assert {k: (f.expected, f.found) for k, f in found.items()} == {
        "hardware.cpu.cores_per_socket": ("56", "52"),
        "hardware.numa_nodes": ("4", "2"),
        "hardware.memory": (">= 1900 GiB", "1888 GiB"),
        "hardware.nvme_data_disks": ("8", "0"),
    }


@pytest.mark.parametrize("text", ["", "{}", "Architecture: x86_64", '{"lscpu": 3}'])
def test_lscpu_without_output(text: str, tmp_path: Path) -> None:
    assert check(tmp_path, lscpu=text, lsblk=text)["hardware.cpu"].outcome is Outcome.COULD_NOT_RUN


def test_nothing_declared_is_not_checked(tmp_path: Path) -> None:
    nothing = {**dict.fromkeys(spec(), 0), "hardware_hcas": [], "hardware_xids_tolerated": [], "hardware_gpu_vendor": "nvidia"}
    findings = run_checks(module, nothing, tmp_path, {})
    assert findings
    assert {f.outcome for f in findings.values()} == {Outcome.NOT_APPLICABLE}
