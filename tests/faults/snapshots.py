"""What error_snapshot.py prints on a node before the load and after it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clusterctl_lab.simulator import machine
from clusterctl_lab.simulator.sysfs_rdma import COUNTERS
from clusterctl_validators.nvidia import COUNTER_COMMANDS, LINK_COUNTER_COMMANDS
from faults import gpu_outputs
from faults.world import gpu_address, hca_address

if TYPE_CHECKING:
    from faults.rows import Change
    from faults.world import Rack

# The node is up for an hour; the load takes another one.
BEFORE_S, AFTER_S = 3600.0, 7200.0
BOOT = "11111111-2222-3333-4444-555555555555"
_OTHER_BOOT = "99999999-2222-3333-4444-555555555555"
# What healthy parts count now and then.
_CORRECTED = frozenset({"aer_correctable", "port_rcv_errors"})
_AER = ("aer_correctable", "aer_fatal", "aer_nonfatal")
# Assumed: the kernel shows as many of Grace as of a node with DIMMs.
_DIMMS = 8


def snapshot(rack: Rack, node: str, *, loaded: bool) -> str:
    """The document."""
    rebooted = loaded and bool(rack.of("reboot", node))
    query, links = COUNTER_COMMANDS[0], LINK_COUNTER_COMMANDS[0]
    answers = [c for c in rack.of("smi_answer", node) if loaded or c.when != "load"]
    report = _output(answers[0].value, 15) if answers else _output(gpu_outputs.report(rack, node, loaded=loaded))
    document = {
        "schema_version": 1,
        "boot_id": _OTHER_BOOT if rebooted else BOOT,
        "uptime_s": 60.0 if rebooted else AFTER_S if loaded else BEFORE_S,
        "log": {"error": "", "lines": _lines(rack, node, loaded=loaded), "complete_since_s": 0.0},
        "commands": {query: report, links: _output(gpu_outputs.nvlink_errors(rack, node, loaded=loaded))},
        "counters": _counters(rack, node, loaded=loaded),
        "rates_gbps": {f"{name}/1": float(machine.THIS.line_rate_gbps) for name in machine.THIS.hca_names},
    }
    return json.dumps(document)


def _output(text: str, status: int = 0) -> dict[str, Any]:
    return {"error": "", "exit_status": status, "stdout": text, "stderr": ""}


def with_address(text: str, change: Change) -> str:
    """A text with the address of the device: a GPU's as XIDs have it, an adapter's whole."""
    address = gpu_address(change.gpu).rpartition(".")[0] if change.gpu is not None else hca_address(change.hca) if change.hca else ""
    return text.replace("{pci}", address)


def _lines(rack: Rack, node: str, *, loaded: bool) -> list[str]:
    early = [f"[ {BEFORE_S - 600:.6f}] kernel: {with_address(c.value, c)}" for c in rack.of("journal", node) if "Xid" in c.value]
    late = [f"[ {BEFORE_S + 600:.6f}] kernel: {with_address(c.value, c)}" for c in rack.of("log_under_load", node)]
    return [*early, *(late if loaded else [])]


def _counters(rack: Rack, node: str, *, loaded: bool) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {f"{name}/1": dict.fromkeys(COUNTERS, 0) for name in machine.THIS.hca_names}
    found |= {address: dict.fromkeys(_AER, 0) for address in (*machine.THIS.gpu_addresses, *machine.THIS.hca_addresses)}
    found |= {f"mc0/dimm{i}": {"dimm_ce_count": 0} for i in range(_DIMMS)} | {"mc0": {"ue_count": 0, "ce_noinfo_count": 0}}
    # An adapter's link comes up minutes after the boot, in two attempts: counted before the load, and no more after it.
    for name in machine.THIS.hca_names:
        found[f"{name}/1"]["link_downed"] = rack.random("boot", node, name).choice((0, 0, 0, 1, 2))
    for when in ("boot", "corrected") if loaded else ("boot",):
        for device, counters in found.items():
            for counter in sorted(_CORRECTED & set(counters)):
                drawn = rack.random(when, node, device, counter)
                counters[counter] += drawn.randint(1, 4) if drawn.random() < rack.noise.corrected else 0
    for change in (c for c in rack.of("counter", node) if loaded or c.when != "load"):
        device, _, counter = with_address(change.path, change).rpartition(".")
        found[device][counter] += int(change.value)
    return found
