"""Contradictions in the declared values of an NVLink domain, as pure functions.

The role checks them before it changes a node, `clusterctl profile check` without access to a node.
"""

from __future__ import annotations

import ipaddress
import json
import uuid
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

Problem = tuple[str, str]

_SET_BY_TLS = {"IMEX_ENABLE_AUTH_ENCRYPTION", "IMEX_AUTH_SOURCE", "IMEX_SECURITY_TARGET_OVERRIDE"} | {
    f"IMEX_{end}_{part}" for end in ("SERVER", "CLIENT") for part in ("KEY", "CERT", "CERT_AUTH")
}
_PARAMETERS = {"NVreg_ImexChannelCount": "nvlink_domain_imex_channels", "NVreg_CreateImexChannel0": "nvlink_domain_imex_channel0"}
# Defaults of the module (kernel-open/nvidia/nv-reg.h).
_MODULE_DEFAULTS = {"NVreg_ImexChannelCount": 2048, "NVreg_CreateImexChannel0": 0}


def contradictions(variables: Mapping[str, Any]) -> list[Problem]:
    """Every contradiction as (variable, text). `variables`: those of nvlink_domain and, if the node has the roles, of hardware and nvidia_driver."""
    return [problem for part in (_numbers, _members, _identity, _settings, _encryption, _driver, _others) for problem in part(variables)]


def _numbers(v: Mapping[str, Any]) -> Iterator[Problem]:
    for name in ("nvlink_domain_trays", "nvlink_domain_gpus", "nvlink_domain_ready_min", "nvlink_domain_imex_channels"):
        if int(v[name]) < 1:
            yield name, f"is {v[name]}; must be above 0"
    if int(v["nvlink_domain_ready_min"]) > int(v["nvlink_domain_trays"]):
        yield "nvlink_domain_ready_min", f"is {v['nvlink_domain_ready_min']}, but the domain has {v['nvlink_domain_trays']} trays"


def _members(v: Mapping[str, Any]) -> Iterator[Problem]:
    members = [str(m) for m in v["nvlink_domain_members"]]
    seen: dict[str, int] = {}
    for i, member in enumerate(members):
        try:
            address = ipaddress.ip_address(member)
        except ValueError:
            yield f"nvlink_domain_members[{i}]", f"{member!r} is not an IP address"
            continue
        if address.is_link_local:
            yield f"nvlink_domain_members[{i}]", f"{member} is link-local, so the other trays do not reach it"
        elif str(address) != member:
            yield f"nvlink_domain_members[{i}]", f"{member}: write {address}, as the trays report it"
        if seen.setdefault(str(address), i) != i:
            yield f"nvlink_domain_members[{i}]", f"{member} is declared twice"
    if members and len(members) != int(v["nvlink_domain_trays"]):
        yield "nvlink_domain_members", f"has {len(members)} addresses, but the domain has {v['nvlink_domain_trays']} trays"


def _identity(v: Mapping[str, Any]) -> Iterator[Problem]:
    declared, clique = v["nvlink_domain_cluster_uuid"], v["nvlink_domain_clique_id"]
    if declared:
        try:
            empty = uuid.UUID(declared).int == 0
        except ValueError:
            yield "nvlink_domain_cluster_uuid", f"{declared!r} is not a UUID"
        else:
            if empty:
                yield "nvlink_domain_cluster_uuid", "is zero, which means no domain"
    if clique and not clique.isdigit():
        yield "nvlink_domain_clique_id", f"{clique!r} is not a number"


def _settings(v: Mapping[str, Any]) -> Iterator[Problem]:
    if "IMEX_NODE_CONFIG_FILE" in v["nvlink_domain_imex_settings"]:
        yield "nvlink_domain_imex_settings.IMEX_NODE_CONFIG_FILE", "is set by the role"
    if v["nvlink_domain_imex"] and str(v["nvlink_domain_imex_settings"].get("IMEX_CMD_ENABLED", 0)) != "1":
        yield (
            "nvlink_domain_imex_settings.IMEX_CMD_ENABLED",
            "is not 1: without the command service the state of the domain cannot be queried",
        )


def _encryption(v: Mapping[str, Any]) -> Iterator[Problem]:
    settings, tls = v["nvlink_domain_imex_settings"], v.get("nvlink_domain_imex_tls") or {}
    encryption, mode = str(settings.get("IMEX_ENABLE_AUTH_ENCRYPTION", 0)).strip(), settings.get("IMEX_AUTH_ENCRYPTION_MODE", "SSL_TLS")
    if mode != "SSL_TLS":
        yield (
            "nvlink_domain_imex_settings.IMEX_AUTH_ENCRYPTION_MODE",
            f"is {mode}, but the role deploys no keytabs; only SSL_TLS is supported",
        )
    if encryption != "0" and not tls:
        yield (
            "nvlink_domain_imex_settings.IMEX_ENABLE_AUTH_ENCRYPTION",
            f"is {encryption}, but without keys and certificates IMEX does not start; declare nvlink_domain_imex_tls, which sets it",
        )
    if not tls:
        return
    for name in sorted(_SET_BY_TLS & set(settings)):
        yield f"nvlink_domain_imex_settings.{name}", "is set by nvlink_domain_imex_tls"
    for key in ("certificate", "key", "authority", "target_name"):
        if not tls.get(key):
            yield (
                f"nvlink_domain_imex_tls.{key}",
                "is not declared; encryption needs key, certificate, authority and the name in the certificates",
            )
    if not v["nvlink_domain_imex"]:
        yield (
            "nvlink_domain_imex_tls",
            "is declared, but nvlink_domain_imex is false: the scheduler that starts IMEX brings its configuration",
        )


def _driver(v: Mapping[str, Any]) -> Iterator[Problem]:
    """Always on or started for each job: IMEX must be installed in the version of the driver."""
    fabric = v.get("nvidia_driver_fabric", "imex")
    if fabric != "imex":
        value = "true" if v["nvlink_domain_imex"] else "false (the scheduler starts IMEX)"
        yield (
            "nvidia_driver_fabric",
            f"is {fabric}, which disables IMEX, but nvlink_domain_imex is {value}; set it to imex: both need the package",
        )
        return
    imex, driver = v.get("nvidia_driver_imex_version", ""), v.get("nvidia_driver_version", "")
    if imex != driver:
        yield "nvidia_driver_imex_version", f"is {imex or 'empty'}, but nvidia_driver_version is {driver or 'empty'}; they must be equal"


def _others(v: Mapping[str, Any]) -> Iterator[Problem]:
    gpus = v.get("hardware_gpus")
    if gpus is not None and int(gpus) != int(v["nvlink_domain_gpus"]):
        yield "nvlink_domain_gpus", f"is {v['nvlink_domain_gpus']}, but hardware_gpus is {gpus}"
    if "nvidia_driver_module_parameters" not in v:
        return
    for parameter, name in _PARAMETERS.items():
        value = int((v["nvidia_driver_module_parameters"] or {}).get(parameter, _MODULE_DEFAULTS[parameter]))
        if value != int(v[name]):
            yield f"nvidia_driver_module_parameters.{parameter}", f"is {value}, but {name} is {int(v[name])}"


def problem_lines(variables: Mapping[str, Any]) -> list[str]:
    """The contradictions as lines, for the role.

    Args:
        variables: the role's variables by name.
    """
    return [f"{where}: {what}" for where, what in contradictions(variables)]


def runs_with_others(output: str, members: Sequence[str]) -> bool:
    """Whether `nvidia-imex-ctl -N -j` lists members other than the declared ones; false if it lists none.

    Args:
        output: what `nvidia-imex-ctl -N -j` printed.
        members: nvlink_domain_members.
    """
    try:
        hosts = [str(node["host"]) for node in json.loads(output)["nodes"].values()]
    except (ValueError, KeyError, TypeError, AttributeError):
        return False
    return sorted(hosts) != sorted(str(member) for member in members)


class FilterModule:
    """The filters of this role."""

    def filters(self) -> dict[str, Any]:
        """Filter name -> function."""
        return {"nvlink_domain_problems": problem_lines, "nvlink_domain_runs_with_others": runs_with_others}
