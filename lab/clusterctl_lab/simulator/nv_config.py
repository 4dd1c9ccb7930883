"""mlxconfig and mstconfig: the NV configuration of the HCAs. A change goes to the flash and takes effect at the next boot.

On some machines a warm reboot is not enough, whatever the tool prints after `set`: NVIDIA requires a power cycle (mstflint issue 1191), and its
operator resets the firmware on DGX servers for this reason (nic-configuration-operator pull request 189). The fault `nv_config_cold` is such an HCA.
"""

from __future__ import annotations

import json
import os
import sys

from . import machine, state

# The flash survives reboots. The current configuration is a copy that each boot makes.
FLASH = "/usr/lib/clusterctl-lab/nv-config.json"
CURRENT = f"{state.RUN}/nv-config.json"
# What the HCAs, which keep power through a warm reboot, ran with in the boot before, and the loss of power before it.
BEFORE = "/usr/lib/clusterctl-lab/nv-config-before.json"
POWER_CUT_BEFORE = "/usr/lib/clusterctl-lab/power-cut-before"
COLD_FAULT = "nv_config_cold"
_BOOLEAN = {"0": "False", "1": "True"}
_LINK = {"1": "IB", "2": "ETH"}
# Parameter -> factory default and names of its values.
_FACTORY: dict[str, tuple[str, dict[str, str]]] = {
    "MEMIC_SIZE_LIMIT": ("1", {"0": "DISABLED", "1": "_256KB"}),
    "NUM_OF_VFS": ("16", {}),
    "SRIOV_EN": ("0", _BOOLEAN),
    "LINK_TYPE_P1": ("1", _LINK),
    "ADVANCED_PCI_SETTINGS": ("0", _BOOLEAN),
    "ATS_ENABLED": ("0", _BOOLEAN),
    "PCI_WR_ORDERING": ("0", {"0": "per_mkey", "1": "force_relax"}),
    "ROCE_CC_PRIO_MASK_P1": ("255", {}),
    "CNP_DSCP_P1": ("48", {}),
    "CNP_802P_PRIO_P1": ("6", {}),
    "MAX_ACC_OUT_READ": ("0", {}),
    "CQE_COMPRESSION": ("0", {"0": "BALANCED", "1": "AGGRESSIVE"}),
}
_HIDDEN = ("MAX_ACC_OUT_READ", "PCI_WR_ORDERING")
# mlxconfig of MFT 4.34.1-10 about an unknown name.
_UNKNOWN = "Failed to find Param / TLV with name '{}' port 0 module -1"
_ARRAY = "ESWITCH_HAIRPIN_DESCRIPTORS"
# Differences to the factory defaults at delivery: a previous user enabled virtual functions.
_DELIVERED = {"SRIOV_EN": "1"}


def on_boot() -> None:
    """Make the configuration in the flash the current one; a parameter with the fault `nv_config_cold` keeps its value until a loss of power."""
    loaded, cut = _load(FLASH), state.read(state.POWER_CUT)
    if cut == state.read(POWER_CUT_BEFORE):
        for fault in state.read_faults().of(COLD_FAULT):
            index = machine.hca_index(fault.device)
            loaded.setdefault(str(index), {})[fault.option] = _values(BEFORE, index)[fault.option]
    _save(CURRENT, loaded)
    _save(BEFORE, loaded)
    with open(POWER_CUT_BEFORE, "w", encoding="utf-8") as file:
        file.write(cut)


def main(argv: list[str], _version: str = "") -> int:
    """Run `-d DEVICE [-e] query` or `-d DEVICE -y set NAME=VALUE...`."""
    device = next((argv[i + 1] for i, word in enumerate(argv[:-1]) if word in ("-d", "--dev")), "")
    index = hca_index_of_address(device)
    if index is None:
        print(f"-E- Failed to open device: {device}. Cannot open device", file=sys.stderr)
        return 3
    words = [w for i, w in enumerate(argv[1:], 1) if not w.startswith("-") and argv[i - 1] not in ("-d", "--dev")]
    verb = words[0] if words else ""
    if verb in ("q", "query"):
        return _query(device, index, words[1:])
    if verb in ("s", "set") and {"-y", "--yes"} & set(argv):
        return _set(index, words[1:])
    print("-E- not simulated: " + " ".join(argv[1:]), file=sys.stderr)
    return 3


def hca_index_of_address(device: str) -> int | None:
    """The index of the HCA at a PCI address, with or without domain; None if there is none."""
    address = device if device.count(":") > 1 else f"0000:{device}"
    known = [*machine.THIS.hca_addresses, *(other for _, other in machine.THIS.other_hcas)]
    return known.index(address) if address in known and address not in state.flag("hca-dead").split() else None


def _query(device: str, index: int, selected: list[str]) -> int:
    """Print the parameters; a query that names one which the adapter lacks or hides is refused as a whole, on stdout."""
    current, following = _values(CURRENT, index), _values(FLASH, index)
    print(f"\nDevice #1:\n----------\n\nDevice type:        {machine.THIS.hca_family:<20}\nDevice:             {device}\n")
    print(f"{'Configurations:':<52}{'Default':<21}{'Current':<21}Next Boot")
    visible = [n for n in _FACTORY if n not in _HIDDEN or current["ADVANCED_PCI_SETTINGS"] == "1"]
    refused = next((n for n in selected if n not in visible), "")
    if refused:
        known = f"The Device doesn't support {refused} parameter"
        print(f"-E- {known if refused in _FACTORY else _UNKNOWN.format(refused)}\n")
        return 3
    differ = False
    for name in selected or visible:
        default, names = _FACTORY[name]
        values = [_printed(v, names) for v in (default, current[name], following[name])]
        differ |= len(set(values)) > 1
        print(f"{'*' if len(set(values)) > 1 else ' ':<8}{name:<44}" + "".join(f"{value:<21}" for value in values))
    if not selected:
        print(f"{'':<8}{_ARRAY:<44}" + f"{'Array[0..7]':<21}" * 3)
    if differ:
        print("The '*' shows parameters with next value different from default/current value.")
    return 0


def _set(index: int, words: list[str]) -> int:
    flash = _load(FLASH)
    current = _values(CURRENT, index)
    settings = dict(word.partition("=")[::2] for word in words)
    for name, value in settings.items():
        if name not in _FACTORY or (name in _HIDDEN and current["ADVANCED_PCI_SETTINGS"] != "1"):
            print(f"-E- The Device doesn't support {name} parameter", file=sys.stderr)
            return 3
        names = {word.lower(): number for number, word in _FACTORY[name][1].items()}
        number = names.get(value.lower(), value)
        if not number.isdigit():
            print(f"-E- Failed to parse {name}={value}", file=sys.stderr)
            return 3
        flash.setdefault(str(index), {})[name] = number
    _save(FLASH, flash)
    print("Applying... Done!\n-I- Please reboot machine to load new configurations.")
    return 0


def current_config(index: int) -> dict[str, str]:
    """The current configuration of an HCA."""
    return _values(CURRENT, index)


def _values(path: str, index: int) -> dict[str, str]:
    return {name: default for name, (default, _) in _FACTORY.items()} | _DELIVERED | _load(path).get(str(index), {})


def _printed(value: str, names: dict[str, str]) -> str:
    return f"{names[value]}({value})" if value in names else value


def _load(path: str) -> dict[str, dict[str, str]]:
    text = state.read(path)
    result: dict[str, dict[str, str]] = json.loads(text) if text else {}
    return result


def _save(path: str, values: dict[str, dict[str, str]]) -> None:
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        json.dump(values, file)
