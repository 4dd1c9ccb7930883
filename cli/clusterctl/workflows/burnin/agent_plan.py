"""A node's plan as the JSON that its burn-in agent reads (`roles/burnin/files/burnin_agent.py`)."""

from __future__ import annotations

import hashlib
import socket
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.store.database_urls import server_and_database
from clusterctl.core.gpu_vendors import gpu_vendor_or_error

if TYPE_CHECKING:
    from clusterctl.adapters.config import Config
    from clusterctl.core.gates.planning.gate_plan import GatePlan

# As slurmstepd titles itself for a step of a job; `slurmstepd infinity` only holds a cgroup (Slurm, cgroup/v2).
JOBS = r"^slurmstepd: \["
_SPARE_PORTS = 7
_PORTS = 65536
LOCK = "/run/clusterctl/burnin.lock"


def owner_of(config: Config) -> str:
    """The owner of a site's runs: its database, the same for each of its users and their certificates."""
    machine = socket.gethostname()
    place = server_and_database(config.database_url, machine) if config.database_url else f"{machine}:{config.state_dir}"
    return hashlib.sha256(place.encode()).hexdigest()[:16]


def _spare_ports(plan: GatePlan) -> list[int]:
    """The ports behind those of all steps: where agents listen if others took the one of the plan. The same for all nodes of a run."""
    last = max([plan.rendezvous.control_port, *(step.port for steps in plan.steps.values() for step in steps)])
    return list(range(last + 1, min(last + 1 + _SPARE_PORTS, _PORTS)))


def plan_for(plan: GatePlan, node: str, run: str, owner: str, token: str) -> dict[str, Any]:
    """What `node` runs.

    `run` is the word by which agents of one run recognize each other. `owner` stands for the store whose leases keep runs apart: an
    agent ends what an earlier run of the same owner left on the node, and gives way to anybody else's. `token` is a secret of this
    run in hexadecimal digits: an agent starts the ranks of a group only for requests that have it.
    """
    vendor = gpu_vendor_or_error(plan.gpu_vendors[node], node)
    return {
        "schema_version": 1,
        "run": run,
        "owner": owner,
        "token": token,
        "node": node,
        "listen": "",
        "control_port": plan.rendezvous.control_port,
        "spare_ports": _spare_ports(plan),
        "peer_wait_s": plan.rendezvous.peer_wait_s,
        "limit_s": plan.limit_s,
        "lock": LOCK,
        "exclusive_use": {"devices": list(vendor.compute_devices), "services": list(vendor.services), "jobs": JOBS},
        "steps": [asdict(step) for step in plan.steps[node]],
    }
