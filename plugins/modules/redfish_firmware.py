"""Firmware versions of a machine through its BMC."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.bmc_module import open_bmc, run_module
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.firmware_inventory import firmware_versions
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.redfish import ROOT

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: redfish_firmware
short_description: Read firmware versions through Redfish
description:
  - Reads the versions of the named components from the firmware inventory of a BMC. It writes nothing.
extends_documentation_fragment: [clusterctl.gpu.bmc]
options:
  components: {description: Globs of the names of the components., type: list, elements: str, required: true}
author: clusterctl authors
"""
EXAMPLES = r"""
- name: Read the versions of the BIOS
  clusterctl.gpu.redfish_firmware:
    baseurl: https://198.51.100.11
    username: admin
    password: "{{ bmc_password }}"
    components: ["Installed-*__BIOS.Setup.*"]
"""
RETURN = r"""
versions: {description: "Component -> version, as the BMC prints it; empty where it prints none.", type: dict, returned: success}
"""


def run(module: AnsibleModule) -> dict[str, Any]:
    """Read the versions."""
    bmc = open_bmc(module.params)
    return {"changed": False, "versions": firmware_versions(bmc.get, bmc.get(ROOT), module.params["components"])}


def main() -> None:
    """Run the module."""
    run_module(run, {"components": {"type": "list", "elements": "str", "required": True}})


if __name__ == "__main__":
    main()
