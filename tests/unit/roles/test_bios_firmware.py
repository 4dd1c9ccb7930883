from __future__ import annotations

from typing import Any

import pytest

from support.filters import filter_plugin

firmware = filter_plugin("bios_firmware")

VERSIONS = {
    "BIOS": "BIOS Date: 08/04/2023 Ver 1.4",
    "HGX_FW_GPU_SXM_1": "96.00.61.00.01",
    "HGX_FW_GPU_SXM_2": "96.00.89.00.01",
    "CPLD": "",
}
CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({"ids": ["BIOS"], "version": "1.4"}, []),
    ({"ids": ["BIOS"], "version": "1.5"}, ["it: BIOS has version 1.4, expected 1.5"]),
    (
        {"ids": ["HGX_FW_GPU_SXM_*"], "version": "96.00.89.00.01"},
        ["it: HGX_FW_GPU_SXM_1 has version 96.00.61.00.01, expected 96.00.89.00.01"],
    ),
    ({"ids": ["HGX_FW_GPU_SXM_*"], "minimum": "96.00.61.00.01"}, []),
    ({"ids": ["HGX_FW_GPU_SXM_*"], "minimum": "96.0.70"}, ["it: HGX_FW_GPU_SXM_1 has version 96.00.61.00.01, expected at least 96.0.70"]),
    ({"ids": ["CPLD"], "version": "1"}, ["it: CPLD has version unknown, expected 1"]),
    ({"ids": ["CPLD"], "minimum": "1"}, ["it: CPLD has version unknown, expected at least 1"]),
    ({"ids": ["ME", "Capsule_*"], "version": "1"}, ["it: no component of the firmware inventory matches ME, Capsule_*"]),
]


@pytest.mark.parametrize(("pin", "problems"), CASES)
def test_an_inventory_is_compared_with_a_pin(pin: dict[str, Any], problems: list[str]) -> None:
    assert firmware.firmware_problems(VERSIONS, [{"name": "it", **pin}]) == problems
