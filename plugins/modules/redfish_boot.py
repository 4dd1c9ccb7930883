"""The boot order of a machine, and a one-time boot from its disk, through its BMC."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ansible_collections.clusterctl.gpu.plugins.module_utils.bios_record import Record
from ansible_collections.clusterctl.gpu.plugins.module_utils.bmc_module import WRITING_OPTIONS, open_bmc, run_module
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.boot_order import (
    BootOrderError,
    declared_order,
    first_kind,
    shown,
)
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.boot_place import (
    BootPlace,
    OverridePlace,
    boot_place,
    override_places,
)
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.redfish import (
    ROOT,
    BmcError,
    Redfish,
    RefusedError,
    link,
    one_system,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ansible.module_utils.basic import AnsibleModule
    from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.boot_order import BootOption

DOCUMENTATION = r"""
module: redfish_boot
short_description: Set the boot order of a machine, or boot it once from its disk
description:
  - Compares the boot order with a declaration and writes it. It takes effect at the next reset, which this module never triggers.
  - With O(disk_once) it makes the next boot start from the disk, whatever the order. Where the order starts with a disk already, nothing is written.
extends_documentation_fragment: [clusterctl.gpu.bmc, clusterctl.gpu.bmc.writing]
options:
  order: {description: "Kinds (disk, network, cd, usb, shell), references, or globs over names and references, first to last.", type: list, elements: str, default: []}
  disk_once: {description: Boot once from the disk., type: bool, default: false}
author: clusterctl authors
"""
EXAMPLES = r"""
- name: Let the machine boot from its disk before it tries the network
  clusterctl.gpu.redfish_boot:
    baseurl: https://198.51.100.11
    username: admin
    password: "{{ bmc_password }}"
    order: [disk, network]
    apply: true
"""
RETURN = r"""
current: {description: The names of the boot options in force with their kinds., type: list, returned: success}
line: {description: "The first options: current -> pending -> desired.", type: str, returned: success}
reset_required: {description: A reset would apply the declared order., type: bool, returned: success}
"""

_READ_BACKS = 5
_RECORDED = "order"


def run(module: AnsibleModule) -> dict[str, Any]:
    """Set the order or the override."""
    params = module.params
    bmc = open_bmc(params)
    root = bmc.get(ROOT)
    system = one_system(bmc.get, root, params["system"], lambda s: bool(link(s, "Bios")), what="a BIOS", setting="bios_system")
    try:
        place = boot_place(bmc.get, bmc.members, system)
        if not params["disk_once"]:
            return _set_order(module, bmc, system, place)
    except BootOrderError as e:
        raise BmcError(f"boot order: {e}") from e
    return _boot_from_disk(module, bmc, override_places(bmc.get, system), place)


def _set_order(module: AnsibleModule, bmc: Redfish, system: Mapping[str, Any], place: BootPlace) -> dict[str, Any]:
    params = module.params
    desired = declared_order(params["order"], place.pending)
    name = f"{urlsplit(params['baseurl']).netloc}-{system.get('Id')}-boot"
    record = Record(params["record_dir"] if place.shows_pending else None, name)
    in_force, stored = _same(place.current, desired), _same(place.pending, desired)
    if not stored and record.written().get(_RECORDED) == [o.reference for o in desired]:
        if not module.check_mode:
            record.forget()
        raise BmcError(f"boot order: {shown(desired)} was written, is no longer pending, but {shown(place.current)} is in force")
    writing = not stored and params["apply"] and not module.check_mode
    if writing:
        _write(bmc, place, desired)
        record.store({_RECORDED: [o.reference for o in desired]})
    elif in_force and not module.check_mode:
        record.forget()
    return {
        "changed": not stored and (module.check_mode or writing),
        "current": [o.text for o in place.current],
        "line": f"boot order: {shown(place.current)} -> {shown(place.pending)} -> {shown(desired)}",
        "reset_required": not in_force and (stored or params["apply"]),
        "diff": {"before": _lines(place.pending), "after": _lines(desired)},
    }


def _write(bmc: Redfish, place: BootPlace, desired: Sequence[BootOption]) -> None:
    try:
        bmc.patch(place.path, place.body(desired), place.etag or "*")
    except RefusedError as e:
        raise BmcError(f"the BMC refused the boot order {shown(desired)}: HTTP {e.status}: {e.message}") from e
    if not place.shows_pending:
        return
    wanted = place.body(desired)
    for attempt in range(_READ_BACKS):
        time.sleep(min(attempt, 1))
        found: Any = bmc.get(place.path)
        expected: Any = wanted
        for key in place.keys:
            found, expected = (found or {}).get(key), expected[key]
        if found == expected:
            return
    raise BmcError(f"the BMC accepted the boot order, but {shown(desired)} is not pending")


def _boot_from_disk(module: AnsibleModule, bmc: Redfish, places: Sequence[OverridePlace], place: BootPlace) -> dict[str, Any]:
    """Whatever fails is fatal only if the next boot would not start from a disk anyway."""
    result = {"current": [o.text for o in place.current], "line": f"boot order: {shown(place.current)}", "reset_required": False}
    foreign = next((p.target for p in places if p.target not in ("", "Hdd")), "")
    from_disk = first_kind(place.pending) == "disk"
    if from_disk and first_kind(place.current) == "disk" and not foreign:
        return {**result, "changed": False}
    why = f"an override to {foreign} is set, which this module leaves to whoever set it" if foreign else ""
    if not why and not module.check_mode:
        why = _override(bmc, places)
    if why and (foreign or not from_disk):
        raise BmcError(f"the next boot cannot be directed to the disk ({why}), and would start from {foreign or shown(place.pending)}")
    if why:
        module.warn(f"the BMC took no boot override ({why}); the order after the next reset starts with a disk")
    return {**result, "changed": not why}


def _override(bmc: Redfish, places: Sequence[OverridePlace]) -> str:
    """Why no place took the override; empty if one did."""
    why = "it offers no boot override"
    for place in places:
        if place.targets and "Hdd" not in place.targets:
            why = f"it offers no override to Hdd, only to {', '.join(place.targets)}"
            continue
        override = {"BootSourceOverrideEnabled": "Once", "BootSourceOverrideTarget": "Hdd"}
        # iLO 5 has the mode, and refuses whoever writes it
        for mode in ({"BootSourceOverrideMode": place.mode}, {}) if place.mode else ({},):
            try:
                bmc.patch(place.path, {"Boot": {**override, **mode}}, place.etag or "*")
            except RefusedError as e:
                why = f"HTTP {e.status}: {e.message}"
            except BmcError as e:
                why = str(e)
            else:
                return ""
    return why


def _same(one: Sequence[BootOption], other: Sequence[BootOption]) -> bool:
    return [o.reference for o in one] == [o.reference for o in other]


def _lines(options: Sequence[BootOption]) -> str:
    return "".join(o.text + "\n" for o in options)


def main() -> None:
    """Run the module."""
    run_module(
        run,
        {
            **WRITING_OPTIONS,
            "order": {"type": "list", "elements": "str", "default": []},
            "disk_once": {"type": "bool", "default": False},
        },
    )


if __name__ == "__main__":
    main()
