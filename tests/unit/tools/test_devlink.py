"""Output of `devlink -j dev info`: keys of mlx5_core and their order from torvalds/linux (mlx5/core/devlink.c), the JSON from the commit of the command."""

from __future__ import annotations

import json
from typing import Any

import pytest

from clusterctl_tools.devlink import parse_stored_firmware


def described(stored: str, running: str = "28.39.3560") -> dict[str, Any]:
    versions = {"fixed": {"fw.psid": "MT_0000000838"}, "running": {"fw.version": running, "fw": running}}
    return {"driver": "mlx5_core", "versions": {**versions, "stored": {"fw.version": stored, "fw": stored}}}


def test_every_adapter_is_in_one_answer() -> None:
    text = json.dumps({"info": {"pci/0000:18:00.0": described("28.46.1006"), "pci/0000:29:00.0": described("28.39.3560")}})
    assert parse_stored_firmware(text) == {"0000:18:00.0": "28.46.1006", "0000:29:00.0": "28.39.3560"}


# Kernel 5.3 to 5.13 has no `fw` beside `fw.version` (torvalds/linux 2754125ebd33).
def test_the_keys_of_an_older_kernel() -> None:
    text = '{"info":{"pci/0000:00:06.0":{"driver":"mlx5_core","versions":{"fixed":{"fw.psid":"MT_0000000009"},"running":{"fw.version":"16.26.0100"},"stored":{"fw.version":"16.26.0100"}}}}}'
    assert parse_stored_firmware(text) == {"0000:00:06.0": "16.26.0100"}


@pytest.mark.parametrize(
    "device",
    [
        # The driver could not read the version (torvalds/linux 10dc35f6a443).
        described("255.255.65535"),
        described("0.0.0000", "0.0.0000"),
        # The firmware has no such registers: the driver names only its board, or nothing.
        {"driver": "mlx5_core", "versions": {"fixed": {"fw.psid": "MT_0000000838"}}},
        {"driver": "mlx5_core"},
        # Another driver (nfp, in the commit of the command) has other keys.
        {"driver": "nfp", "versions": {"stored": {"fw.mgmt": "010181.010181.0101d4"}}},
        {"versions": {"stored": {"fw.version": None}}},
        {"versions": []},
        [],
    ],
)
def test_an_adapter_that_tells_nothing_hides_no_other(device: Any) -> None:
    text = json.dumps({"info": {"pci/0000:18:00.0": device, "pci/0000:29:00.0": described("28.39.3560")}})
    assert parse_stored_firmware(text) == {"0000:29:00.0": "28.39.3560"}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "kernel answers: No data available\n",
        "[]",
        "{}",
        '{"info": []}',
        '{"info": [1]}',
        '{"info": "x"}',
        '{"info": {"pci/0000:18:00.0": {',
    ],
)
def test_no_answer(text: str) -> None:
    assert parse_stored_firmware(text) == {}


def test_text_of_any_depth_is_no_answer() -> None:
    assert parse_stored_firmware("[" * 100_000) == {}


def test_auxiliary_devices_are_no_adapters() -> None:
    assert parse_stored_firmware(json.dumps({"info": {"auxiliary/mlx5_core.sf.2": described("28.39.3560")}})) == {}
