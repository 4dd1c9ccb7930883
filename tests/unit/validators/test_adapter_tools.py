"""The firmware in the flash of an adapter: the kernel reports that of all at once, and flint is started for the others."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from clusterctl_validators.adapter_tools import UnreadableToolError, read_flash_firmware
from clusterctl_validators.probe import CommandResult, Probe
from support.checks import InventedNode

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

ADDRESSES = ("0000:18:00.0", "0000:29:00.0")
FLINT = "Image type:            FS4\nFW Version:            28.46.1006\nPSID:                  MT_0000000838\n"


def reported(**versions: str) -> str:
    """What the driver reports of the adapters a and b."""
    handles = {name: f"pci/{address}" for name, address in zip("ab", ADDRESSES, strict=True)}
    devices = {handles[name]: {"driver": "mlx5_core", "versions": {"stored": {"fw.version": text}}} for name, text in versions.items()}
    return json.dumps({"info": devices})


class CountingNode(InventedNode):
    """A fake node that lists the commands which were started."""

    def __init__(self, root: Path, devlink: CommandResult | str, flint: CommandResult | str = FLINT) -> None:
        super().__init__(root, {"devlink -j dev info": devlink, **{f"flint -d {address} query": flint for address in ADDRESSES}})
        self.started: list[str] = []

    def run(self, argv: Sequence[str], timeout_s: float) -> CommandResult:
        self.started.append(" ".join(argv))
        return super().run(argv, timeout_s)


def read(node: CountingNode) -> list[str]:
    probe = Probe(node)
    return [read_flash_firmware(probe, "flint", address) for address in ADDRESSES]


def test_one_question_to_the_kernel_answers_for_all_adapters(tmp_path: Path) -> None:
    node = CountingNode(tmp_path, reported(a="28.39.3560", b="28.43.1014"))
    assert read(node) == ["28.39.3560", "28.43.1014"]
    assert node.started == ["devlink -j dev info"]


@pytest.mark.parametrize(
    "answer",
    [
        CommandResult(None, error="devlink: No such file or directory"),
        CommandResult(None, error="timed out after 8 s"),
        CommandResult(1, '{"info":{}}', "kernel answers: No data available\n"),
        # Before Linux 5.3 the driver has no such answer, and devlink lists no device.
        '{"info":{}}',
        reported(a="255.255.65535", b="0.0.0000"),
    ],
)
def test_flint_is_asked_where_the_kernel_does_not_tell(answer: CommandResult | str, tmp_path: Path) -> None:
    assert read(CountingNode(tmp_path, answer)) == ["28.46.1006", "28.46.1006"]


def test_only_the_adapter_that_the_kernel_leaves_out_is_asked(tmp_path: Path) -> None:
    node = CountingNode(tmp_path, reported(a="28.39.3560"))
    assert read(node) == ["28.39.3560", "28.46.1006"]
    assert node.started == ["devlink -j dev info", f"flint -d {ADDRESSES[1]} query"]


def test_an_adapter_that_nothing_shows(tmp_path: Path) -> None:
    node = CountingNode(tmp_path, '{"info":{}}', CommandResult(1, stderr="-E- Cannot open Device"))
    with pytest.raises(UnreadableToolError, match="Cannot open Device"):
        read(node)
