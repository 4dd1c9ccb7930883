"""What the modules that talk to a BMC have in common: how they reach it, and how they end."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ansible.module_utils.basic import AnsibleModule
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.redfish import BmcError, Redfish, well_formed

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

_OPTIONS: dict[str, Any] = {
    "baseurl": {"type": "str", "required": True},
    "username": {"type": "str", "required": True},
    "password": {"type": "str", "required": True, "no_log": True},
    "validate_certs": {"type": "bool", "default": True},
    "ca_path": {"type": "path"},
    "timeout": {"type": "int", "default": 60},
}
WRITING_OPTIONS: dict[str, Any] = {
    "system": {"type": "str", "default": ""},
    "apply": {"type": "bool", "default": False},
    "record_dir": {"type": "path"},
}


@dataclass(frozen=True)
class Login:
    """How to reach the BMC."""

    url: str
    user: str
    password: str = field(repr=False)
    ca_file: str


def open_bmc(params: Mapping[str, Any]) -> Redfish:
    """The BMC that the options name."""
    login = Login(params["baseurl"], params["username"], params["password"], params["ca_path"] or "")
    return Redfish(login, float(params["timeout"]), verify=params["validate_certs"])


def run_module(run: Callable[[AnsibleModule], dict[str, Any]], options: Mapping[str, Any]) -> None:
    """Run a module with options of its own; an error of the BMC names the BMC."""
    module = AnsibleModule(argument_spec={**_OPTIONS, **options}, supports_check_mode=True)
    base = urlsplit(module.params["baseurl"])
    if base.scheme != "https" or not base.netloc or "@" in base.netloc:
        module.fail_json(msg="the URL of a BMC must start with https:// and contain no password")
    try:
        with well_formed():
            result = run(module)
    except BmcError as e:
        module.fail_json(msg=f"BMC {base.netloc}: {e}")
    except OSError as e:
        module.fail_json(msg=f"record_dir: {e}")
    module.exit_json(**result)
