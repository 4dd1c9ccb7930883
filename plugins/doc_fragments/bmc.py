"""Options that modules for a BMC share, for `ansible-doc`; plugins/module_utils/bmc_module.py takes them."""

from __future__ import annotations


class ModuleDocFragment:
    """Of every such module; `clusterctl.gpu.bmc.writing` has those of modules that write."""

    DOCUMENTATION = r"""
options:
  baseurl: {description: "URL of the BMC, https only.", type: str, required: true}
  username: {description: User of the BMC., type: str, required: true}
  password: {description: Password of the user., type: str, required: true}
  validate_certs: {description: Check the certificate of the BMC., type: bool, default: true}
  ca_path: {description: PEM file of the authority that signed the certificate., type: path}
  timeout: {description: Time limit of one request in seconds., type: int, default: 60}
"""
    WRITING = r"""
options:
  system: {description: Id of the system if several have a BIOS., type: str, default: ""}
  apply: {description: Write what differs; false only plans it., type: bool, default: false}
  record_dir: {description: Folder on this machine for a record of what was written; empty means none., type: path}
"""
