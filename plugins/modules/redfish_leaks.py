"""Leak detectors of a machine through its BMC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.bmc_module import open_bmc, run_module
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.leak_detectors import leak_problems, leak_states
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.redfish import ROOT, BmcError

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: redfish_leaks
short_description: Check leak detectors through Redfish
description:
  - Reads the leak detectors of the named chassis. Fails if one reports a leak, or if fewer are in place than declared. It writes nothing.
extends_documentation_fragment: [clusterctl.gpu.bmc]
options:
  detectors: {description: "Id of a chassis -> the number of its leak detectors.", type: dict, required: true}
author: clusterctl authors
"""
EXAMPLES = r"""
- name: Check the leak detectors of a compute tray
  clusterctl.gpu.redfish_leaks:
    baseurl: https://198.51.100.11
    username: admin
    password: "{{ bmc_password }}"
    detectors: {Chassis_0: 4}
"""
RETURN = r"""
states: {description: "Chassis -> detector -> C(OK).", type: dict, returned: success}
"""


def run(module: AnsibleModule) -> dict[str, Any]:
    """Check the detectors."""
    bmc = open_bmc(module.params)
    declared = {name: int(number) for name, number in module.params["detectors"].items()}
    states = leak_states(bmc, bmc.get(ROOT), declared)
    problems = leak_problems(declared, states)
    if problems:
        raise BmcError("; ".join(f"{chassis}: {what}" for chassis, what in problems.items()))
    return {"changed": False, "states": states}


def main() -> None:
    """Run the module."""
    run_module(run, {"detectors": {"type": "dict", "required": True}})


if __name__ == "__main__":
    main()
