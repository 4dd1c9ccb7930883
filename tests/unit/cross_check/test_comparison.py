"""What counts as a difference between a real program and the simulator."""

from __future__ import annotations

import pytest

from cross_check.comparison import Comparison, Normalisation, NotRun, ToolReport, report
from cross_check.fabric_tools import netlist
from cross_check.hardware_views import lscpu_facts, lspci_facts, numactl_facts

PROCESS = Normalisation(r"\[\d+\] main:", "[] main:", "the id of the process")
IBSTAT = "CA 'mlx5_0'\n\tNumber of ports: 1\n\t\tRate: 400\nexit status 0\n"
LSPCI = """0000:18:00.0 0207: 15b3:1021 (rev 01)
\tNUMA node: 1
\tIOMMU group: 17
\t\tLnkCap:\tPort #0, Speed 32GT/s, Width x16, ASPM not supported
\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), Width x8 (downgraded)
"""


def compared(real: str, simulated: str, *rules: Normalisation) -> Comparison:
    return Comparison("ibstat", "hgx_h100", "ibstat", real, simulated, rules)


def test_equal_texts_have_no_difference() -> None:
    assert compared(IBSTAT, IBSTAT).difference == []


@pytest.mark.parametrize(
    ("old", "new"),
    [("Rate: 400", "Rate: 200"), ("\t\tRate", "\tRate"), ("status 0", "status 255"), ("\tNumber of ports: 1\n", ""), ("mlx5_0", "mlx5_1")],
)
def test_a_planted_difference_is_found(old: str, new: str) -> None:
    assert compared(IBSTAT, IBSTAT.replace(old, new)).difference


def test_only_the_normalised_part_may_differ() -> None:
    real, simulated = "ibpanic: [17] main: gone\n", "ibpanic: [1] main: gone\n"
    assert compared(real, simulated).difference
    assert compared(real, simulated, PROCESS).difference == []
    assert compared(real, simulated.replace("gone", "here"), PROCESS).difference


def test_programs_that_print_nothing_are_not_equal() -> None:
    assert compared("", "").difference == ["neither printed anything"]


def test_the_report_counts_tools_comparisons_and_differences() -> None:
    rows = [compared(IBSTAT, IBSTAT, PROCESS), compared(IBSTAT, "", PROCESS)]
    found = report([ToolReport("ibstat", "44.0", rows)], [NotRun("nvme", "no drive")])
    assert (found["tools"], found["compared"], found["different"]) == (1, 2, 1)
    assert found["rows"][0]["version"] == "44.0"
    assert found["rows"][0]["normalisations"] == [{"pattern": PROCESS.pattern, "becomes": PROCESS.becomes, "why": PROCESS.why}]
    assert found["rows"][0]["different"][0]["difference"][:2] == ["--- real", "+++ simulated"]
    assert found["not_run"] == [{"tool": "nvme", "reason": "no drive"}]


def test_a_link_is_read_from_the_registers_that_lspci_shows() -> None:
    expected = "0000:18:00.0 class=0207 id=15b3:1021 rev=01 numa=1 group=17 speed=2.5 width=8 max_speed=32.0 max_width=16 below=00"
    assert lspci_facts(LSPCI) == [expected]
    assert lspci_facts(LSPCI.replace("Width x8", "Width x4")) != [expected]


def test_cpus_and_memory_are_read_from_the_tools() -> None:
    assert lscpu_facts("Socket(s):                2\n")[2] == "Socket(s): 2"
    assert lscpu_facts("")[2] == "Socket(s): absent"
    assert numactl_facts("node 0 cpus: 0 1 2\nnode 0 size: 64 MB\nnode 0 free: 1 MB\n") == ["node 0: 3 CPUs, 64 MiB"]
    assert numactl_facts("node 0 cpus: 0\n") == ["node 0: 1 CPUs, no MiB"]


def test_the_fabric_has_the_cable_of_the_simulated_node() -> None:
    text = netlist("mlx5_3")
    assert '[4]\t"r12-n04 mlx5_3"[1]' in text
    assert "MF0;leaf-su1-rail3:MQM9700/U1" in text
