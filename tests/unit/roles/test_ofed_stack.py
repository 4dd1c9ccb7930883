from __future__ import annotations

from typing import Any

import pytest

from support.filters import filter_plugin
from support.gpu_node import GROUP_VARS, declared
from support.plain_yaml import load_yaml
from support.roles import ROOT

plugin = filter_plugin("ofed_stack")
CATALOGUE = load_yaml((GROUP_VARS / "all" / "network_stacks.yml").read_text())["network_stacks"]
CASES = load_yaml((ROOT / "tests/cases/ofed_stack/refused.yml").read_text())
H100 = {f"0000:{bus}:00.0": "1021" for bus in ("18", "3d", "50", "5e")}
SYSFS = """\
/sys/bus/pci/devices/0000:18:00.0/vendor:0x15b3
/sys/bus/pci/devices/0000:1a:00.0/vendor:0x10de
/sys/bus/pci/devices/0000:21:00.2/vendor:0x15b3
/sys/bus/pci/devices/0000:18:00.0/device:0x1021
/sys/bus/pci/devices/0000:1a:00.0/device:0x2330
/sys/bus/pci/devices/0000:21:00.2/device:0xc2d5
/sys/bus/pci/devices/0000:18:00.0/class:0x020700
/sys/bus/pci/devices/0000:1a:00.0/class:0x030200
/sys/bus/pci/devices/0000:21:00.2/class:0x080100
/sys/class/infiniband/mlx5_0/board_id:MT_0000000838
/sys/class/infiniband/mlx5_0/fw_ver:28.39.3560
/sys/class/infiniband/mlx5_0/ports/1/link_layer:InfiniBand
/sys/module/mlx5_core/initstate:live
/sys/module/mlx5_core/version:25.10-1.7.1
/sys/module/mlx5_core/taint:OE
/sys/class/infiniband/mlx5_0/device -> /sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0
"""


def refusals(case: dict[str, Any]) -> list[str]:
    """All refusals of the role for the H100 profile with the changes of `case`."""
    said = declared("ofed")
    stack = {
        "flavour": said["ofed_flavour"],
        "version": said["ofed_version"],
        "driver": said["ofed_driver_version"],
        **case.get("stack", {}),
    }
    packages = [*case.get("packages", said["ofed_packages"]), *case.get("packages_add", [])]
    settings = {"firmware": [], "mlxconfig": {}, "max_read_request_bytes": 0, **case.get("settings", {})}
    errors = plugin.stack_errors(stack, packages, CATALOGUE) + plugin.setting_errors(case.get("devices", ["mlx5_0"]), settings)
    adapters = case.get("adapters", H100)
    return list(errors or plugin.adapter_errors(stack, adapters, CATALOGUE))


def test_the_profile_is_accepted() -> None:
    said = declared("ofed")
    settings = {name: said[f"ofed_{name}"] for name in ("firmware", "mlxconfig", "max_read_request_bytes")}
    assert refusals({"settings": settings}) == []


@pytest.mark.parametrize("name", CASES)
def test_invalid_input_is_refused_with_a_reason(name: str) -> None:
    errors = refusals(CASES[name])
    assert any(CASES[name]["reason"] in e for e in errors), errors


@pytest.mark.parametrize(("version", "driver"), [("3.3.0", "26.01-1.0.0"), ("3.4.1", "26.04-0.8.5"), ("3.5.0", "26.07-0.7.7")])
def test_current_releases_drive_every_adapter_of_a_gpu_node(version: str, driver: str) -> None:
    """BlueField-3 (a2dc) and 4 (a2df), ConnectX-7 to 9; package versions as `26.01.OFED.26.01.1.0.0.1` of DOCA 3.3.0."""
    series, _, build = driver.partition("-")
    package = {"name": "mlnx-ofed-kernel-dkms", "version": f"{series}.OFED.{series}.{build}.1-1"}
    adapters = {f"0000:{bus}:00.0": bus for bus in ("1021", "1023", "1025", "a2dc", "a2df", "101e")}
    assert refusals({"stack": {"version": version, "driver": driver}, "packages": [package], "adapters": adapters}) == []


def test_virtual_functions_have_an_id_of_no_generation() -> None:
    assert refusals({"adapters": {"0000:18:00.1": "101e"}}) == []


def test_without_a_catalogue_versions_are_still_compared() -> None:
    stack = {"flavour": "doca", "version": "9.9.9", "driver": "25.10-1.7.1"}
    packages = declared("ofed")["ofed_packages"]
    assert plugin.stack_errors(stack, packages, {}) == []
    assert plugin.adapter_errors(stack, {"0000:18:00.0": "1fff"}, {}) == []
    assert plugin.stack_errors({**stack, "driver": "24.10-2.1.8"}, packages, {})


def test_mlnx_ofed_is_a_release_and_its_driver_without_the_last_number() -> None:
    stack = {"flavour": "mlnx_ofed", "version": "24.10-4.1.4.0", "driver": "24.10-4.1.4"}
    packages = [{"name": "mlnx-ofed-kernel-dkms", "version": "24.10.OFED.24.10.4.1.4.1-1"}]
    assert plugin.stack_errors(stack, packages, CATALOGUE) == []
    assert plugin.adapter_errors(stack, H100, CATALOGUE) == []


def test_content_of_sysfs() -> None:
    said = plugin.sysfs(SYSFS)
    assert said["adapters"] == {"0000:18:00.0": "1021"}
    device = {"address": "0000:18:00.0", "psid": "MT_0000000838", "firmware": "28.39.3560", "link_layer": "InfiniBand"}
    assert said["devices"] == {"mlx5_0": device}
    assert (said["loaded"], said["driver"], said["foreign"]) == (True, "25.10-1.7.1", True)


def test_the_smi_device_of_a_subnet_manager_is_no_adapter() -> None:
    beside = "/sys/class/infiniband/smi1/device -> /sys/devices/pci0000:15/0000:15:01.0/0000:18:00.0\n"
    assert plugin.sysfs(SYSFS + beside)["devices"] == plugin.sysfs(SYSFS)["devices"]


def test_a_node_without_a_driver_has_no_devices() -> None:
    said = plugin.sysfs("")
    assert (said["adapters"], said["devices"], said["loaded"], said["foreign"]) == ({}, {}, False, False)


def test_the_kernels_own_driver_may_show_a_version_and_is_not_foreign() -> None:
    said = plugin.sysfs("/sys/module/mlx5_core/initstate:live\n/sys/module/mlx5_core/version:5.0-0\n")
    assert (said["loaded"], said["foreign"]) == (True, False)


def test_firmware_is_compared_by_board() -> None:
    devices = plugin.sysfs(SYSFS)["devices"]
    assert plugin.firmware_differences([], devices) == []
    assert plugin.firmware_differences([{"psid": "MT_0000000838", "version": "28.39.3560"}], devices) == []
    assert plugin.firmware_differences([{"psid": "MT_0000000838", "version": "28.46.1006"}], devices) == [
        "mlx5_0 (MT_0000000838): firmware 28.39.3560, declared 28.46.1006"
    ]
    assert plugin.firmware_differences([{"psid": "DEL0000000036", "version": "28.39.3560"}], devices) == [
        "mlx5_0: board MT_0000000838 is not in ofed_firmware"
    ]
