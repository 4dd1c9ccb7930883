"""Compatibility of a network stack, and the adapters of the node, as pure functions."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

_RELEASE = {"doca": re.compile(r"\d+\.\d+\.\d+"), "mlnx_ofed": re.compile(r"\d+\.\d+-\d+(\.\d+){3}")}
_DRIVER = re.compile(r"\d+\.\d+-\d+(\.\d+){2}")
_NAMES = {"doca": "DOCA", "mlnx_ofed": "MLNX_OFED"}
_PARAMETER = re.compile(r"[A-Z][A-Z0-9_]*")
_NETWORK_CLASS = ("0x0200", "0x0207")
_VENDOR = "0x15b3"


def stack_errors(stack: Mapping[str, str], packages: Sequence[Mapping[str, str]], catalogue: Mapping[str, Any]) -> list[str]:
    """The reasons to refuse this stack, one line each; empty if there is none.

    Args:
        stack: `flavour`, `version`, `driver` of the role.
        packages: `name`, `version` of each package.
        catalogue: the facts of `network_stacks`; without them only versions are compared.
    """
    errors = [*_version_errors(stack), *_package_errors(stack, packages)]
    if errors or not catalogue or stack["flavour"] == "inbox":
        return errors
    known = catalogue[stack["flavour"]]
    series = _series(stack["version"])
    name = f"{_NAMES[stack['flavour']]} {stack['version']}"
    if series not in known:
        return [f"{name}: series {series} is not in the catalogue, which has {', '.join(known)}"]
    if _series(stack["driver"]) != known[series]["driver"]:
        return [f"{name} has driver {known[series]['driver']}-..., not {stack['driver']}"]
    return []


def _version_errors(stack: Mapping[str, str]) -> Iterator[str]:
    flavour, version, driver = stack["flavour"], stack["version"], stack["driver"]
    if flavour == "inbox":
        for option, value in (("ofed_version", version), ("ofed_driver_version", driver)):
            if value:
                yield f"{option}: {value} has no effect for inbox; the kernel has its own driver"
        return
    if not _RELEASE[flavour].fullmatch(version):
        example = "3.2.1" if flavour == "doca" else "24.10-4.1.4.0"
        yield f"ofed_version: {version!r} is not a full release of {_NAMES[flavour]}, such as {example}"
    if not _DRIVER.fullmatch(driver):
        yield f"ofed_driver_version: {driver!r} is not a full release, such as 25.10-1.7.1"
    elif flavour == "mlnx_ofed" and not version.startswith(driver + "."):
        yield f"ofed_driver_version: {driver} does not match MLNX_OFED {version}; expected its release without the last number"


def _package_errors(stack: Mapping[str, str], packages: Sequence[Mapping[str, str]]) -> Iterator[str]:
    names = [p["name"] for p in packages]
    for name in sorted({n for n in names if names.count(n) > 1}):
        yield f"{name} is declared twice"
    if stack["flavour"] == "inbox":
        for package in packages:
            if "OFED" in package["version"] or package["name"].startswith(("doca-", "mlnx-")):
                yield f"{package['name']} {package['version']} is not part of the kernel's own stack (ofed_flavour is inbox)"
        return
    if not any("OFED" in p["version"] for p in packages):
        yield f"{stack['flavour']} is declared without a package of its kernel driver"
    dotted = stack["driver"].replace("-", ".")
    for package in packages:
        inside = package["version"].rpartition("OFED.")[2] if "OFED" in package["version"] else ""
        if inside and not re.match(re.escape(dotted) + r"(\D|$)", inside):
            yield f"{package['name']} {package['version']} does not match driver {stack['driver']}"
        if package["name"] == "doca-ofed" and package["version"].partition("-")[0] != stack["version"]:
            yield f"doca-ofed {package['version']} is not DOCA {stack['version']}"


def adapter_errors(stack: Mapping[str, str], adapters: Mapping[str, str], catalogue: Mapping[str, Any]) -> list[str]:
    """Adapters of the node (PCI address -> device id of vendor 15b3) that the stack does not support, one line each.

    Args:
        stack: `flavour`, `version` of the role.
        adapters: PCI address -> device id of vendor 15b3.
        catalogue: the facts of `network_stacks`; without them nothing is refused.
    """
    if not catalogue or stack["flavour"] == "inbox":
        return []
    supported = catalogue[stack["flavour"]][_series(stack["version"])]["adapters"]
    name = f"{_NAMES[stack['flavour']]} {stack['version']}"
    errors = []
    for address, device in sorted(adapters.items()):
        generation = catalogue["devices"].get(device)
        if generation is None and device not in catalogue["any_generation"]:
            errors.append(f"{address}: device 15b3:{device} is not in the catalogue network_stacks")
        elif generation is not None and generation not in supported:
            errors.append(f"{address}: {name} does not support {generation}, only {', '.join(supported)}")
    return errors


def setting_errors(devices: Sequence[str], settings: Mapping[str, Any]) -> list[str]:
    """Invalid settings of the adapters, one line each. `settings`: `firmware`, `mlxconfig`, `max_read_request_bytes`.

    Args:
        devices: names of `ofed_devices`.
        settings: `firmware`, `mlxconfig`, `max_read_request_bytes` of the role.
    """
    errors = [f"ofed_devices: {d} is declared twice" for d in sorted({d for d in devices if list(devices).count(d) > 1})]
    size = settings["max_read_request_bytes"]
    if size not in (0, 128, 256, 512, 1024, 2048, 4096):
        errors.append(f"ofed_max_read_request_bytes: {size} is neither 0 nor a power of two from 128 to 4096")
    for name, value in settings["mlxconfig"].items():
        if not _PARAMETER.fullmatch(name):
            errors.append(f"ofed_mlxconfig: {name} is not a parameter of mlxconfig; elements of arrays are not managed")
        elif isinstance(value, (list, dict)) or value is None or re.search(r"\s|^$", str(value)):
            errors.append(f"ofed_mlxconfig.{name}: {value!r} is neither a number, a boolean nor a single word")
    boards = [f["psid"] for f in settings["firmware"]]
    errors += [f"ofed_firmware: {b} is declared twice" for b in sorted({b for b in boards if boards.count(b) > 1})]
    if not devices:
        errors += [f"ofed_{name} is declared, but ofed_devices is empty" for name, value in settings.items() if value]
    return errors


def firmware_differences(declared: Sequence[Mapping[str, str]], devices: Mapping[str, Mapping[str, str]]) -> list[str]:
    """Devices with other firmware than declared for their board, one line each. `devices`: name -> `psid`, `firmware`.

    Args:
        declared: rows of ofed_firmware: `psid`, `version`.
        devices: name -> `psid`, `firmware`.
    """
    versions = {f["psid"]: f["version"] for f in declared}
    lines = []
    for name, device in devices.items():
        if device["psid"] not in versions:
            lines.append(f"{name}: board {device['psid'] or 'unknown'} is not in ofed_firmware")
        elif device["firmware"] != versions[device["psid"]]:
            lines.append(f"{name} ({device['psid']}): firmware {device['firmware'] or 'unknown'}, declared {versions[device['psid']]}")
    return lines if declared else []


def sysfs(text: str) -> dict[str, Any]:
    """Parse `path:content` and `path -> target` lines of sysfs.

    Args:
        text: the lines that the role reads on the node.

    Returns:
        adapters: PCI address -> device id, only network functions of NVIDIA.
        devices: RDMA device -> `address`, `psid`, `firmware`, `link_layer`.
        loaded, driver, foreign: whether mlx5_core is loaded, its version, and whether it is not the kernel's own.
    """
    values: dict[str, str] = {}
    targets: dict[str, str] = {}
    for line in text.splitlines():
        if " -> " in line:
            path, _, target = line.partition(" -> ")
            targets[path] = target.rpartition("/")[2]
        else:
            path, value = _split(line)
            values[path] = value
    pci = "/sys/bus/pci/devices/"
    addresses = [p.removeprefix(pci).partition("/")[0] for p, v in values.items() if p.endswith("/vendor") and v == _VENDOR]
    adapters = {
        a: values.get(f"{pci}{a}/device", "").removeprefix("0x")
        for a in addresses
        if values.get(f"{pci}{a}/class", "").startswith(_NETWORK_CLASS)
    }
    rdma = "/sys/class/infiniband/"
    devices = {
        path.removeprefix(rdma).partition("/")[0]: {
            "address": target,
            "psid": values.get(path.replace("/device", "/board_id"), ""),
            "firmware": values.get(path.replace("/device", "/fw_ver"), ""),
            "link_layer": values.get(path.replace("/device", "/ports/1/link_layer"), ""),
        }
        for path, target in targets.items()
        if not path.startswith(rdma + "smi")  # a second device of an adapter, for subnet managers of XDR fabrics (rdma-dev.8)
    }
    module = "/sys/module/mlx5_core/"
    foreign = "O" in values.get(module + "taint", "")
    return {
        "adapters": adapters,
        "devices": devices,
        "loaded": module + "initstate" in values,
        "driver": values.get(module + "version", ""),
        "foreign": foreign,
    }


def _split(line: str) -> tuple[str, str]:
    """A line of `grep -H`: PCI addresses contain colons, so the path ends at the first colon after the file name."""
    found = re.match(r"(?P<path>/sys/\S*/[a-z_]+):(?P<value>.*)", line)
    return (found["path"], found["value"]) if found else (line, "")


def _series(version: str) -> str:
    """`3.2.1` -> `3.2`, `24.10-4.1.4.0` -> `24.10`."""
    return ".".join(re.split(r"[.-]", version)[:2])


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Callable[..., Any]]:
        """Filter name -> function."""
        return {
            "ofed_stack_errors": stack_errors,
            "ofed_adapter_errors": adapter_errors,
            "ofed_setting_errors": setting_errors,
            "ofed_firmware_differences": firmware_differences,
            "ofed_sysfs": sysfs,
        }
