"""BIOS attributes of a machine through its BMC, with pending values, locks and resets."""

from __future__ import annotations

import time
from dataclasses import asdict
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from ansible_collections.clusterctl.gpu.plugins.module_utils.bios_plan import OK, DeclaredAttribute, Plan, make_plan
from ansible_collections.clusterctl.gpu.plugins.module_utils.bios_record import Record
from ansible_collections.clusterctl.gpu.plugins.module_utils.bios_registry import Registry
from ansible_collections.clusterctl.gpu.plugins.module_utils.bios_service import Service, ServiceError, open_service
from ansible_collections.clusterctl.gpu.plugins.module_utils.bmc_module import WRITING_OPTIONS, open_bmc, run_module
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.bios import same
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.redfish import Redfish, RefusedError

if TYPE_CHECKING:
    from ansible.module_utils.basic import AnsibleModule

DOCUMENTATION = r"""
module: redfish_bios
short_description: Plan and write BIOS attributes through Redfish
description:
  - Compares declared attributes with the current and the pending ones, and writes those that differ to the settings object of the machine.
    Nothing takes effect before a reset, which this module never triggers.
extends_documentation_fragment: [clusterctl.gpu.bmc, clusterctl.gpu.bmc.writing]
options:
  vendor: {description: Vendor whose attributes are used; empty means as reported by the service., type: str, default: ""}
  attributes: {description: "Vendor to list of {name, value, also, optional}.", type: dict, default: {}}
  overrides: {description: Values that replace or add to those of the vendor; null removes one., type: dict, default: {}}
author: clusterctl authors
"""
EXAMPLES = r"""
- name: Show the effect of the next reset
  clusterctl.gpu.redfish_bios:
    baseurl: https://198.51.100.11
    username: admin
    password: "{{ bmc_password }}"
    attributes: {dell: [{name: SysProfile, value: PerfOptimized}]}
"""
RETURN = r"""
vendor: {description: Vendor whose attribute names the machine uses., type: str, returned: success}
system: {description: Id of the system., type: str, returned: success}
lines: {description: "Each attribute: current -> pending -> desired.", type: list, returned: success}
steps: {description: The same as structured data., type: list, returned: success}
reset_required: {description: A reset would apply declared values., type: bool, returned: success}
resets: {description: Number of required resets., type: int, returned: success}
apply_again: {description: "A second run is required after the reset, to read the values back and to write locked attributes.", type: bool, returned: success}
"""

_CHANGED_MEANWHILE = 412
_READ_BACKS = 5


def declared_attributes(params: dict[str, Any], vendor: str) -> list[DeclaredAttribute]:
    """The attributes declared for this vendor, with the site's overrides applied."""
    sets = params["attributes"]
    if any(sets.values()) and sets.get(vendor) is None:
        raise ServiceError(
            f"no attributes are declared for vendor {vendor or 'unknown'!r}, only for {', '.join(sorted(k for k, v in sets.items() if v))}; set bios_vendor"
        )
    chosen = {w["name"]: w for w in sets.get(vendor) or []}
    for name, value in params["overrides"].items():
        if value is None:
            chosen.pop(name, None)
        else:
            chosen[name] = {**chosen.get(name, {"name": name}), "value": value}
    return [DeclaredAttribute(w["name"], w["value"], tuple(w.get("also") or ()), bool(w.get("optional"))) for w in chosen.values()]


def write(bmc: Redfish, service: Service, plan: Plan) -> None:
    """Write the planned values and read them back."""
    try:
        bmc.patch(service.settings_path, service.body(plan.writes), service.etag or "*")
    except RefusedError as e:
        if e.status != _CHANGED_MEANWHILE:
            names = ", ".join(f"{k}={v}" for k, v in plan.writes.items())
            raise ServiceError(f"the BMC refused {names}: HTTP {e.status}: {e.message}") from e
        now = bmc.get(service.settings_path)
        if (now.get("Attributes") or {}) != service.pending:
            raise ServiceError("another client changed the pending settings at the same time; run again") from e
        try:
            bmc.patch(service.settings_path, service.body(plan.writes), "*")
        except RefusedError as again:
            raise ServiceError(f"the BMC refused: HTTP {again.status}: {again.message}") from again
    missing: list[str] = []
    for attempt in range(_READ_BACKS):
        time.sleep(min(attempt, 1))
        pending = bmc.get(service.settings_path).get("Attributes") or {}
        missing = [k for k, v in plan.writes.items() if not same(pending.get(k), v)]
        if not missing:
            return
    raise ServiceError(f"the BMC accepted the change, but {', '.join(missing)} is not pending")


def shown(plan: Plan, *, written: bool) -> str:
    """One side of the diff."""
    rows = [
        f"{line.attribute}: current {line.current}, pending {line.desired if written and line.attribute in plan.writes else line.pending}"
        for line in plan.lines
        if line.step != OK
    ]
    return "".join(row + "\n" for row in rows)


def run(module: AnsibleModule) -> dict[str, Any]:
    """Plan, write if requested, and report."""
    params = module.params
    bmc = open_bmc(params)
    service = open_service(bmc.get, params["system"], params["vendor"])
    registry = Registry.parse(service.registry)
    plan = make_plan(declared_attributes(params, service.vendor), registry, service.current, service.pending)
    for name, value in plan.foreign.items():
        module.warn(f"{name}={value} is pending but not declared: the next reset applies it")
    record = Record(params["record_dir"], f"{urlsplit(params['baseurl']).netloc}-{service.system}")
    problems = [*plan.problems, *_not_applied(record, service, plan)]
    if problems:
        if not module.check_mode:
            record.forget()
        raise ServiceError("; ".join(problems))
    writing = bool(plan.writes) and params["apply"] and not module.check_mode
    if writing:
        write(bmc, service, plan)
        record.store(plan.waiting)
    elif not plan.waiting and not module.check_mode:
        record.forget()
    pending = plan.writes == {} or params["apply"]
    return {
        "changed": bool(plan.writes) and (module.check_mode or writing),
        "vendor": service.vendor,
        "system": service.system,
        "registry": service.registry_id,
        "lines": [str(line) for line in plan.lines],
        "steps": [asdict(line) for line in plan.lines],
        "reset_required": bool(plan.waiting) and pending,
        "resets": plan.resets,
        "apply_again": any(line.step != OK for line in plan.lines) and pending,
        "diff": {"before": shown(plan, written=False), "after": shown(plan, written=True)},
    }


def _not_applied(record: Record, service: Service, plan: Plan) -> list[str]:
    """Values that an earlier run wrote and that are neither pending nor in force."""
    still = {line.attribute: line for line in plan.lines if not same(line.current, line.desired)}
    lost = [
        still[a]
        for a, written in record.written().items()
        if a in still and same(written, still[a].desired) and still[a].attribute in plan.writes
    ]
    return [
        f"{line.attribute}: {line.desired!r} was written, is no longer pending, but {line.current!r} is in force"
        + (f" (BMC: {service.messages[line.attribute]})" if line.attribute in service.messages else "")
        for line in lost
    ]


def main() -> None:
    """Run the module."""
    run_module(
        run,
        {
            **WRITING_OPTIONS,
            "vendor": {"type": "str", "default": ""},
            "attributes": {"type": "dict", "default": {}},
            "overrides": {"type": "dict", "default": {}},
        },
    )


if __name__ == "__main__":
    main()
