from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from ansible.module_utils.common.arg_spec import ArgumentSpecValidator

from support.filters import filter_plugin
from support.local_play import run_play
from support.plain_yaml import load_yaml
from support.roles import ROOT, load_role

if TYPE_CHECKING:
    from pathlib import Path

CASES = {
    f"{role}-{name}": (role, case)
    for role in ("kernel", "os_tuning", "hugepages")
    for name, case in load_yaml((ROOT / "tests" / "cases" / "role_input" / f"{role}.yml").read_text()).items()
}
# Refused by an assert of the role that is not a filter.
ASSERTED = [
    ("kernel", {"kernel_package": "linux-image-6.8.0-1046-nvidia"}, "kernel_package and kernel_version must both be set"),
    ("kernel", {"kernel_modules": ["nouveau"], "kernel_modules_absent": ["nouveau"]}, "both list nouveau"),
    ("kernel", {"kernel_modules": ["a b"]}, "is not the name of a kernel module"),
    ("os_tuning", {"os_tuning_services_masked": ["ufw", "cups"]}, "such as ufw.service; cups: add the suffix"),
    ("os_tuning", {"os_tuning_tuned_profile": "hpc-compute", "os_tuning_governor": "performance"}, "os_tuning_tuned_profile sets what"),
    ("os_tuning", {"os_tuning_tuned_profile": "hpc-compute", "os_tuning_energy_perf_bias": "normal"}, "os_tuning_tuned_profile sets what"),
    ("os_tuning", {"os_tuning_services_masked": ["ufw"]}, "add the suffix of the unit, such as ufw.service"),
    ("os_tuning", {"os_tuning_services_masked": ["ssh.socket"]}, "ssh.socket: without it the node is out of reach"),
    (
        "os_tuning",
        {"os_tuning_services_disabled": ["NetworkManager.service"]},
        "NetworkManager.service: without it the node is out of reach",
    ),
    ("os_tuning", {"os_tuning_firewall_trusted": ["eth 0"]}, "names of interfaces and networks such as 192.0.2.0/24"),
    ("os_tuning", {"os_tuning_firewall_trusted": ["eth0"], "os_tuning_firewall_off": True}, "only where os_tuning_firewall_off is false"),
    ("os_tuning", {"os_tuning_time_sync": "chrony"}, "os_tuning_time_sources is empty"),
    ("hugepages", {"hugepages_pages": [{"size": "1G", "node": 999, "count": 1}]}, "NUMA nodes absent on this machine: node999"),
    ("hugepages", {"hugepages_pages": [{"size": "4M", "node": 0, "count": 1}]}, "value of size must be one of: 2M, 32M, 512M, 1G, 16G"),
]


def refusals(role: str, variables: dict[str, Any]) -> list[str]:
    """What argument_specs say (as Ansible checks them when the role starts), else what the role's own filters say."""
    result = ArgumentSpecValidator(load_role(ROOT / "roles" / role).options).validate(variables)
    if result.error_messages:
        return list(result.error_messages)
    given = load_role(ROOT / "roles" / role).defaults | variables
    if role == "kernel":
        errors: list[str] = filter_plugin("kernel_boot").cmdline_errors(given["kernel_cmdline"], given["kernel_console"])
    elif role == "hugepages":
        errors = filter_plugin("hugepages_rules").problem_lines(given)
    else:
        plugin = filter_plugin("os_tuning")
        errors = plugin.sysctl_errors(given["os_tuning_sysctl"])
        errors += plugin.limit_errors(given["os_tuning_limits"], given["os_tuning_systemd_limits"])
    return errors


@pytest.mark.parametrize("name", CASES)
def test_bad_input_is_refused_by_its_path(name: str) -> None:
    role, case = CASES[name]
    found = refusals(role, case["vars"])
    assert bool(found) == bool(case["errors"]), found
    for part in case["errors"]:
        assert any(part in line for line in found), found


@pytest.mark.parametrize(("role", "variables", "message"), ASSERTED, ids=lambda v: v if isinstance(v, str) else "")
def test_a_role_refuses_before_it_changes_anything(role: str, variables: dict[str, Any], message: str, tmp_path: Path) -> None:
    environment = {"ANSIBLE_CALLBACK_RESULT_FORMAT": "json"}
    done = run_play(tmp_path, [], "--check", variables=variables, environment=environment, keywords={"roles": [role]})
    assert done.code == 2, done.output
    assert message in done.output
    assert done.changed == 0
