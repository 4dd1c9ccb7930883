"""Which GPU an adapter is beside, where nvidia-smi shows it and where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import test_hardware as module
from clusterctl_validators.finding import Outcome
from support.checks import InventedNode, run_some_checks, write_files
from support.gpu_node import declared, topology

if TYPE_CHECKING:
    from pathlib import Path

FUNCTION = "/sys/bus/pci/devices/0009:03:00.0"


@pytest.mark.parametrize(
    ("device", "outcomes"),
    [
        # Of a GB300 tray it shows SYS or NODE to every GPU: the function that reads and writes GPU memory is another one, beside the GPU.
        ("0x2100", {"hardware.hcas.affinity": Outcome.NOT_APPLICABLE}),
        ("0x1023", {f"hardware.hca[mlx5_{n}].gpu": Outcome.FAIL if n == 4 else Outcome.PASS for n in range(8)}),
    ],
)
def test_paths_of_data_direct_functions_are_not_those_that_nvidia_smi_shows(
    device: str, outcomes: dict[str, Outcome], tmp_path: Path
) -> None:
    root = write_files(tmp_path, {f"{FUNCTION}/vendor": "0x15b3\n", f"{FUNCTION}/device": f"{device}\n"})
    node = InventedNode(root, {"nvidia-smi topo -m": topology({4: 7})})
    found = run_some_checks(module, declared("hardware"), node, ["test_hca_affinity"])
    assert {check: f.outcome for check, f in found.items()} == outcomes
