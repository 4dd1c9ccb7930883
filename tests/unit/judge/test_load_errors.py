"""load_errors: snapshots of a node before and after the load, and what grew between them."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from typing import Any

import pytest

from clusterctl.core.gates.judging.judge import judge
from clusterctl.core.gates.subject import subject_of
from clusterctl.core.parsers.error_snapshot import read_error_snapshot
from clusterctl.core.parsers.unparsable import UnparsableError
from clusterctl.model.gate_reason import GateReason
from clusterctl.model.gate_result import GateResult, Outcome
from clusterctl_tools.gpu import UnreadableGpuError
from clusterctl_validators.nvidia import COUNTER_COMMANDS, LINK_COUNTER_COMMANDS, error_counters
from support.gates import CASES, TODAY, gates, node, record, snapshot
from support.plain_yaml import load_yaml
from support.recorded import recorded

EXAMPLES = load_yaml((CASES / "load_errors" / "cases.yml").read_text(encoding="utf-8"))
QUERY, NVLINK = COUNTER_COMMANDS[0], LINK_COUNTER_COMMANDS[0]
GPU = """<nvidia_smi_log><driver_version>580.126.20</driver_version><attached_gpus>1</attached_gpus><gpu id="00000000:1B:00.0">
<gpu_recovery_action>None</gpu_recovery_action><pci><replay_counter>0</replay_counter></pci>
<clocks_event_reasons_counters><clocks_event_reasons_counters_sw_power_cap>0 us</clocks_event_reasons_counters_sw_power_cap>
<clocks_event_reasons_counters_sw_therm_slowdown>0 us</clocks_event_reasons_counters_sw_therm_slowdown>
<clocks_event_reasons_counters_hw_therm_slowdown>0 us</clocks_event_reasons_counters_hw_therm_slowdown>
<clocks_event_reasons_counters_hw_power_brake>0 us</clocks_event_reasons_counters_hw_power_brake></clocks_event_reasons_counters>
<ecc_errors><volatile><sram_uncorrectable_parity>0</sram_uncorrectable_parity><dram_correctable>0</dram_correctable>
<dram_uncorrectable>0</dram_uncorrectable></volatile><tpc_repair_pending>No</tpc_repair_pending>
<unrepairable_memory>No</unrepairable_memory></ecc_errors>
<remapped_rows><remapped_row_unc>0</remapped_row_unc><remapped_row_pending>No</remapped_row_pending>
<remapped_row_failure>No</remapped_row_failure></remapped_rows></gpu></nvidia_smi_log>"""
LINKS = "\n".join(
    [
        "GPU 0: NVIDIA H100 80GB HBM3 (UUID: GPU-1)",
        *(f"Link {i}: {kind} Errors: 0" for i in (0, 1) for kind in ("Replay", "Recovery", "CRC")),
    ]
)
# Another driver's names for everything: nothing of it is counted.
BARE = (
    "<nvidia_smi_log><driver_version>999.1</driver_version><attached_gpus>1</attached_gpus>"
    '<gpu id="00000000:1B:00.0"><errors>0</errors></gpu></nvidia_smi_log>'
)
HEALTHY = {"mlx5_0/1": {"link_downed": 0, "symbol_error": 0, "port_rcv_errors": 0}}


def output(text: str) -> dict[str, Any]:
    return {"error": "", "exit_status": 0, "stdout": text, "stderr": ""}


def gpu_xml(changes: dict[str, str]) -> str:
    root = ET.fromstring(GPU)  # noqa: S314 a constant
    for path, value in changes.items():
        element = root.find(f"gpu/{path}")
        assert element is not None, path
        element.text = value
    return ET.tostring(root, encoding="unicode")


def links(changes: dict[str, str]) -> str:
    text = LINKS
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    return text


def judged(before: str, after: str, case: dict[str, Any]) -> list[GateResult]:
    declared = gates(gates_settings={"load_errors": case.get("settings", {})})
    one = node("n1", rails=1, gpus=1, declared=declared)
    hardware = {**one.spec.roles["hardware"], "hardware_xids_tolerated": case.get("tolerated", []), "hardware_gpu_nvlinks": 2}
    subject = subject_of(replace(one, spec=replace(one.spec, roles={"hardware": hardware})), TODAY)
    runs = [
        record("load_errors", "n1", text, step=step)
        for step, text in (("before", before), ("after.nodes", after))
        if step != case.get("drop")
    ]
    return list(judge([subject], runs, level="quick", gates=["load_errors"]))


@pytest.mark.parametrize("case", EXAMPLES, ids=lambda c: c["name"])
def test_case(case: dict[str, Any]) -> None:
    query = output(BARE if case.get("gpu_without_counters") else gpu_xml(case.get("gpu", {})))
    first = {QUERY: query if query["stdout"] == BARE else output(GPU), NVLINK: output(case.get("nvlink_before", LINKS))}
    before = snapshot(5, counters=case.get("sysfs_before", HEALTHY), commands=first)
    commands = {QUERY: case.get("smi") or query, NVLINK: output(case.get("nvlink_after", links(case.get("nvlink", {}))))}
    log = {"error": case.get("log_error", ""), "lines": case.get("log", []), "complete_since_s": case.get("log_complete_since_s", 0.0)}
    after = snapshot(10, boot_id=case.get("boot_id", "boot-1"), counters={}, commands=commands, log=log)
    after = json.dumps(json.loads(after) | {"counters": case.get("sysfs", HEALTHY), "rates_gbps": case.get("rates_gbps", {})})
    results = judged(before, after[: case.get("cut", len(after))], case)
    bad = [r for r in results if r.outcome is not Outcome.PASS]
    assert len(bad) == len(case["expect"]), bad
    for result, expected in zip(bad, case["expect"], strict=True):
        assert result.hint, result
        for key, wanted in expected.items():
            found = getattr(result, key)
            assert (wanted in found) if key in ("detail", "hint") else found == wanted, (key, result)
    assert bad or [(r.outcome, r.rule) for r in results] == [(Outcome.PASS, "growth")]


def test_eight_hours_on_eight_ports_within_what_a_cable_is_tested_to_pass() -> None:
    ports = {f"mlx5_{i}/1": 0 for i in range(8)}
    counted = {port: {"symbol_error": 11} for port in ports}
    before = snapshot(5, counters={port: {"symbol_error": 0} for port in ports})
    after = json.dumps(json.loads(snapshot(485, counters=counted)) | {"rates_gbps": dict.fromkeys(ports, 400.0)})
    assert [r.outcome for r in judged(before, after, {})] == [Outcome.PASS]
    worse = after.replace('"mlx5_3/1": {"symbol_error": 11}', '"mlx5_3/1": {"symbol_error": 12}')
    assert [(r.outcome, r.device) for r in judged(before, worse, {})] == [(Outcome.WARN, "mlx5_3/1")]


@pytest.mark.parametrize(
    ("file", "device", "counters"),
    [
        ("_synthetic-by-source/qx-gb200-throttle-counters.xml", None, {"hw_power_brake_us": 0, "row_remap_pending": 0}),
        ("nvidia-smi/qx-hardware/qx-gb200.xml", None, {"pcie_replays": 0, "row_remap_failure": 0}),
        ("_synthetic-by-source/qx-a100-healthy.xml", None, {"remapped_rows": 0}),
    ],
)
def test_recorded_reports_have_the_counters(file: str, device: str | None, counters: dict[str, int]) -> None:
    found = error_counters({QUERY: recorded(file).read_text(encoding="utf-8")})
    assert found
    for own in found.values():
        assert counters.items() <= own.items(), device


def test_a_healthy_tray_of_gb200_passes_after_the_slowdown_that_it_shows() -> None:
    report = recorded("nvidia-smi/qx-hardware/qx-gb200.xml").read_text(encoding="utf-8")
    fresh = re.sub(r"(_therm_slowdown|_power_cap)>\d+ us<", r"\1>0 us<", report)
    assert fresh != report
    before, after = (snapshot(minutes, commands={QUERY: output(text)}) for minutes, text in ((5, fresh), (65, report)))
    assert [r.outcome for r in judged(before, after, {})] == [Outcome.PASS]
    shorter = snapshot(6, commands={QUERY: output(report)})
    assert {(r.outcome, r.metric) for r in judged(before, shorter, {})} == {(Outcome.WARN, "sw_therm_slowdown_us")}


def test_nvlink_names_of_other_generations_are_counters_too() -> None:
    lines = ("Tx packets: 12345", "Rx remote Errors: 2", "Effective BER: 15e-255", "FEC Errors - 3: 175", "Raw BER Lane 0: 2061")
    text = "GPU 1: NVIDIA B200 (UUID: GPU-2)\n" + "".join(f"\t Link 0: {line}\n" for line in lines)
    assert error_counters({NVLINK: text}) == {
        "GPU 1 NVLink 0": {
            "nvlink_tx_packets": 12345,
            "nvlink_rx_remote_errors": 2,
            "nvlink_effective_ber": 1.5e-254,
            "nvlink_fec_errors_3": 175,
            "nvlink_raw_ber_lane_0": 2061,
        }
    }


def test_a_recorded_output_of_nvlink_4_has_its_three_counters() -> None:
    found = error_counters({NVLINK: recorded("nvidia-smi/stas00-nvlink-e-h100.txt").read_text(encoding="utf-8")})
    assert set(found) == {f"GPU 0 NVLink {link}" for link in (0, 1, 17)}
    assert all(set(own) == {"nvlink_replay_errors", "nvlink_recovery_errors", "nvlink_crc_errors"} for own in found.values())


def test_a_rate_that_is_no_number_of_this_world_is_unreadable() -> None:
    with pytest.raises(UnreadableGpuError, match="9e999"):
        error_counters({NVLINK: "GPU 0: NVIDIA B200\n\t Link 0: Symbol BER: 9e999\n"})


# What a healthy link of a B300 prints (driver 595.91.07).
BLACKWELL = {
    **dict.fromkeys(("Malformed packet Errors", "Buffer overrun Errors", "Rx Errors", "Rx remote Errors", "Rx General Errors"), "0"),
    **dict.fromkeys(("Local link integrity Errors", "Tx discards", "Link recovery successful events", "Link recovery failed events"), "0"),
    **dict.fromkeys(("Total link recovery events", "Effective Errors", "Symbol Errors", "PLR Xmit Retry Blocks"), "0"),
    **dict.fromkeys(("Effective BER", "Symbol BER"), "15e-255"),
    "FEC Errors - 0": "36140749276",
    **{f"FEC Errors - {n}": "0" for n in range(1, 16)},
    "Raw BER Lane 0": "2061",
    "Raw Errors Lane 0": "82",
    "Tx packets": "5",
}
EVENTS = [n for n, value in BLACKWELL.items() if value == "0" and "FEC" not in n]


def blackwell(**changes: str) -> dict[str, Any]:
    lines = "".join(f"\t Link 0: {name}: {value}\n" for name, value in (BLACKWELL | changes).items())
    return output(f"GPU 0: NVIDIA B300 SXM6 AC (UUID: GPU-1)\n{lines}")


def on_blackwell(**changes: str) -> list[tuple[Outcome, str]]:
    before, after = (snapshot(m, commands={NVLINK: links}) for m, links in ((5, blackwell()), (10, blackwell(**changes))))
    return [(r.outcome, r.metric) for r in judged(before, after, {})]


@pytest.mark.parametrize("name", EVENTS)
def test_any_growth_of_an_error_or_recovery_of_nvlink_5_fails(name: str) -> None:
    assert len(EVENTS) == 13
    metric = "nvlink_" + name.lower().replace(" ", "_")
    outcome = Outcome.WARN if name == "PLR Xmit Retry Blocks" else Outcome.FAIL
    assert on_blackwell(**{name: "1"}) == [(outcome, metric)]


@pytest.mark.parametrize(
    ("name", "passes", "warns", "fails"), [("Effective BER", "1e-12", "1e-9", "11e-10"), ("Symbol BER", "1e-25", "1e-12", "15e-13")]
)
def test_rates_of_nvlink_5_have_bands(name: str, passes: str, warns: str, fails: str) -> None:
    found = [[outcome for outcome, _ in on_blackwell(**{name: rate})] for rate in (passes, warns, fails)]
    assert found == [[Outcome.PASS], [Outcome.WARN], [Outcome.FAIL]]


@pytest.mark.parametrize(("symbols", "passes"), [(1, 10_000), (2, 10_000), (3, 10), (15, 10)])
def test_what_error_correction_repaired_is_a_share_of_the_code_words_and_holds_no_node_back(symbols: int, passes: int) -> None:
    """78 million code words a second and link: a day of load has 7e12, of which a healthy link corrects a few thousand."""
    words = {"FEC Errors - 0": str(36140749276 + 10**12)}
    found = [on_blackwell(**words, **{f"FEC Errors - {symbols}": str(n)}) for n in (passes, passes + 1, 10**9)]
    assert found == [[(Outcome.PASS, "")], *[[(Outcome.WARN, f"nvlink_fec_errors_{symbols}")]] * 2]


@pytest.mark.parametrize("words", ["36140749276", "5"])
def test_few_repaired_code_words_are_no_warning_of_a_short_load(words: str) -> None:
    found = [on_blackwell(**{"FEC Errors - 0": words, "FEC Errors - 3": n}) for n in ("10", "11")]
    assert [[outcome for outcome, _ in one] for one in found] == [[Outcome.PASS], [Outcome.WARN]]


def test_a_bad_rate_from_before_the_load_fails_too() -> None:
    bad = blackwell(**{"Symbol BER": "4e-11"})
    before, after = (snapshot(m, commands={NVLINK: bad}) for m in (5, 10))
    found = judged(before, after, {})
    assert [(r.outcome, r.metric, r.value, r.limit, r.found) for r in found] == [(Outcome.FAIL, "nvlink_symbol_ber", 4e-11, 1e-12, "4e-11")]


def test_traffic_and_errors_before_correction_may_grow() -> None:
    """PLR Xmit Blocks: NVIDIA's manual of nvidia-smi, changes of R610."""
    grown = {"FEC Errors - 0": "99999999999", "Raw BER Lane 0": "9000", "Raw Errors Lane 0": "7000000", "Tx packets": "123456789"}
    grown["PLR Xmit Blocks"] = "24568193412"
    assert on_blackwell(**grown) == [(Outcome.PASS, "")]


def test_a_counter_that_nobody_knows_is_named_when_it_grows() -> None:
    later = [snapshot(m, commands={NVLINK: blackwell(**{"Quantum Errors": value})}) for m, value in ((5, "1"), (10, "4"))]
    assert [(r.outcome, r.metric, r.value) for r in judged(later[0], later[1], {})] == [(Outcome.WARN, "nvlink_quantum_errors", 3.0)]
    assert [r.outcome for r in judged(later[0], later[0].replace('"uptime_s": 300.0', '"uptime_s": 600.0'), {})] == [Outcome.PASS]


def test_a_link_of_which_no_counter_has_a_limit_proves_nothing() -> None:
    text = output("GPU 0: NVIDIA X100 (UUID: GPU-1)\n\t Link 0: Tx packets: 5\n\t Link 0: Mishaps: 0\n")
    before, after = (snapshot(m, commands={NVLINK: text}) for m in (5, 10))
    found = judged(before, after, {})
    assert [(r.outcome, r.device, r.reason) for r in found] == [(Outcome.COULD_NOT_RUN, "GPU 0 NVLink 0", GateReason.INCOMPLETE)]


def test_a_boot_id_is_no_longer_than_the_record_keeps() -> None:
    """PostgreSQL refuses a longer one, with the results of all nodes that are saved with it."""
    assert read_error_snapshot(snapshot(5, boot_id="b" * 64)).boot_id == "b" * 64
    with pytest.raises(UnparsableError):
        read_error_snapshot(snapshot(5, boot_id="b" * 65))
