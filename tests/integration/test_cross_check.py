"""Real programs of Debian over the machine that the lab simulates: a part of `make cross-check`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from cross_check import fabric_tools, hardware_views, kernel_tools, network_tools, same_output
from cross_check.world import World, simulated, why_no_world

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cross_check.comparison import ToolReport

WHY = why_no_world()
pytestmark = pytest.mark.skipif(bool(WHY), reason=WHY)
FAULT = ({"name": "hca_downtrained", "device": "mlx5_1", "option": "100"}, same_output.LANES)
WORLDS = (World("hgx_h100_roce"), World("hgx_b200", faults=FAULT), same_output.machines()[-1])


def runnable(part: Any) -> list[str]:
    """The tools of a part; skips the test with the reason where one cannot be run."""
    missing = {part.why_missing(tool) for tool in part.TOOLS} - {""}
    if missing:
        pytest.skip(f"missing: {', '.join(sorted(missing))}; run `make tools`")
    return list(part.TOOLS)


def differences(reports: Sequence[ToolReport]) -> dict[str, list[str]]:
    compared = [c for r in reports for c in r.comparisons]
    assert compared
    return {f"{c.machine}: {c.command}": c.difference for c in compared if c.difference}


@pytest.mark.parametrize("world", WORLDS, ids=lambda w: w.name.replace(" ", "_"))
def test_the_simulator_prints_what_the_real_program_prints(world: World) -> None:
    assert differences(same_output.compare(runnable(same_output), [world])) == {}


@pytest.mark.parametrize("world", WORLDS[:2], ids=lambda w: w.name.replace(" ", "_"))
def test_real_programs_understand_the_simulated_machine(world: World) -> None:
    assert differences(hardware_views.compare(runnable(hardware_views), [world])) == {}


def test_the_simulator_prints_what_the_real_program_prints_on_a_fabric() -> None:
    assert differences(fabric_tools.compare(runnable(fabric_tools), ["mlx5_3"])) == {}


def test_the_simulated_kernel_log_and_modules_are_printed_as_by_the_real_programs() -> None:
    assert differences(kernel_tools.compare(runnable(kernel_tools))) == {}


def test_the_settings_of_an_interface_are_printed_as_by_the_real_program() -> None:
    assert differences(network_tools.compare(runnable(network_tools))) == {}


def test_programs_see_the_simulated_machine_and_not_this_one() -> None:
    devices, missing = World("gb300_nvl72").run([simulated("ibstat", ["ibstat", "-l"]), ["cat", "/sys/class/infiniband/mlx5_7/fw_ver"]])
    assert devices.text == "mlx5_0\nmlx5_1\nmlx5_2\nmlx5_3\nexit status 0\n"
    assert missing.rc == 1
