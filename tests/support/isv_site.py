"""A site whose record has a bit of everything that buyers ask for, with the scripts of contrib/isv on it."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import dataclass, replace
from io import StringIO
from typing import TYPE_CHECKING, Any

import yaml

from clusterctl.adapters import clock
from clusterctl.core.timestamps import after
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.notice import Period
from clusterctl.model.part import Part
from clusterctl.model.state import State
from clusterctl.terminal.findings import show_findings
from clusterctl_tools.port_info import own_port_argv, record_argv
from clusterctl_validators import test_infiniband
from clusterctl_validators.health_agent import FETCH, GPUD_HEALTH, GPUD_UNIT, TIMEOUT_S
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView
from clusterctl_validators.test_monitoring import test_health_agent
from support.checks import InventedNode
from support.gpu_node import declared, systemctl, unit
from support.os_node import Case, findings
from support.port_info import subnets
from support.roles import ROOT
from support.stores import a_node, a_run, bring, burn_in, fresh

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from clusterctl.adapters.store import Store
    from clusterctl_validators.finding import Finding
    from clusterctl_validators.probe import CommandResult

SCRIPTS = ROOT / "contrib" / "isv" / "scripts"
GOOD, BUSY, BAD, GONE = "r12-n01", "r12-n02", "r12-n03", "r12-n04"
_POOL = f"""
from clusterctl.adapters.pools.local import LocalPool

class BusySitePool(LocalPool):
    def busy(self, nodes):
        return {{"{BUSY}": "job 17 of eve"}} if "{BUSY}" in nodes else {{}}

    def vacate(self, nodes, waiting):
        return {{}}
"""
_PKEYS = "/sys/class/infiniband/mlx5_3/ports/1/pkeys"
_PLACE = {
    "leaf": "leaf-1",
    "spine": "spine-1",
    "nvlink_domain": "nvl-1",
    "node_labels": {"tenant": "acme", "project": "train", "core": "core-1"},
}
_AT = "2026-03-14T09:00:00.000000Z"
_KINDS = ("system", "chassis", "baseboard", "cpu", "nic")


@dataclass(frozen=True)
class IsvSite:
    """A site, and its scripts as isvctl runs them."""

    folder: Path

    def run(self, script: str, *words: str, command: str = "") -> tuple[int, dict[str, Any]]:
        """Exit status and answer of a script."""
        clusterctl = command or f"{sys.executable} -m clusterctl"
        environment = {**os.environ, "CLUSTERCTL": clusterctl, "CLUSTERCTL_SITE": str(self.folder), "PYTHONPATH": ":".join(sys.path)}
        done = subprocess.run(
            [sys.executable, str(SCRIPTS / f"{script}.py"), *words],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )
        assert done.stderr == ""
        answer: dict[str, Any] = json.loads(done.stdout)
        return done.returncode, answer


_STAND_IN = """
import json, os, sys
verb, *words = sys.argv[2:]
documents = json.load(open(sys.argv[1]))
if verb not in documents:
    os.execv(sys.executable, [sys.executable, "-m", "clusterctl", verb, *words])
if verb == "validate":
    from clusterctl.core.waivers import matches
    nodes = documents[verb]["nodes"]
    checks = [f["check"] for n in nodes for f in n["findings"]]
    wanted = [glob for option, glob in zip(words, words[1:]) if option == "--only"]
    unknown = [glob for glob in wanted if not any(matches(glob, check) for check in checks)]
    if unknown and all(n["status"] == "ok" for n in nodes):
        sys.exit(f"error: no check matches {unknown}")
print(json.dumps(documents[verb]))
"""


def standing_in(folder: Path, documents: Mapping[str, Any]) -> str:
    """A command that prints the documents of the verbs that would contact a node or a BMC; the others are clusterctl's own.

    As the real one, it refuses `validate --only` for checks that no node has.
    """
    file = folder / "documents.json"
    file.write_text(json.dumps(documents))
    return shlex.join([sys.executable, "-c", _STAND_IN, str(file)])


def validated_keys(folder: Path, keys: Mapping[str, Sequence[str]], m_keys: Mapping[str, str] | None = None) -> dict[str, Any]:
    """What `validate` prints of nodes with these P_Keys at the port of tests/cases/os_validators/infiniband.yml: the checks are the real ones.

    `m_keys`: the nodes that declare infiniband_m_key, each with the subnet of tests/cases/port_info whose answers it gets.
    """
    recorded = {s.name: s for s in subnets()}
    results = []
    for node, of_node in keys.items():
        change: dict[str, Any] = {
            "files": {f"{_PKEYS}/{i}": f"{key}\n" for i, key in enumerate((*of_node, *["0x0000"] * (3 - len(of_node))))},
            "spec": {"infiniband_m_key": node in (m_keys or {})},
        }
        if m_keys and node in m_keys:
            argvs = (own_port_argv("mlx5_3", 1), record_argv("mlx5_3", 1, 664))
            change["commands"] = {" ".join(argv): vars(recorded[m_keys[node]].answer(argv[0])) for argv in argvs}
        found = findings(Case("infiniband", node, change, {}), test_infiniband, folder / node)
        results.append(_answered(node, [f for check, f in found.items() if check.endswith((".pkeys", "].m_key"))]))
    return _printed(results)


def validated_agents(folder: Path, answers: Mapping[str, str | CommandResult]) -> dict[str, Any]:
    """What `validate` prints of nodes whose gpud runs and answers its health check so; the checks are the real ones. No text: the node does not answer."""
    results = []
    for node, answer in answers.items():
        record = Record("monitoring")
        commands = {systemctl(GPUD_UNIT): unit(), f"python3 -I -c {FETCH} {GPUD_HEALTH} {TIMEOUT_S}": answer}
        spec = SpecView("monitoring", declared("monitoring", monitoring_health_agent="gpud"))
        test_health_agent(spec, record, Probe(InventedNode(folder / node, commands)))
        silent = NodeFindings(node, NodeStatus.UNREACHABLE, "no route to host", (), 1.5, at=_AT)
        results.append(_answered(node, record.findings) if answer else silent)
    return _printed(results)


def _answered(node: str, found: Sequence[Finding]) -> NodeFindings:
    return NodeFindings(node, NodeStatus.OK, "", tuple(found), 1.5, at=_AT)


def _printed(results: Sequence[NodeFindings]) -> dict[str, Any]:
    printed = StringIO()
    with redirect_stdout(printed):
        show_findings(results, "json", "run-1")
    document: dict[str, Any] = json.loads(printed.getvalue())
    return document


def write_isv_site(folder: Path, *, pool: bool = True, agent: str = "gpud") -> IsvSite:
    """Four nodes: in service, in use, in quarantine, retired. With `pool`, the pool of the site tells what runs; else it is `local`. `agent` is required of all."""
    hosts: dict[str, dict[str, Any]] = {
        n: {"ansible_host": f"192.0.2.{i}", "rack_slot": i} for i, n in enumerate((GOOD, BUSY, BAD, GONE), 1)
    }
    hosts[GOOD] |= _PLACE
    hosts[BUSY] |= {"node_labels": {"tenant": "acme", "project": "train"}, "leaf": "leaf-1"}
    rack = {"vars": {"rack": "rack-12", "monitoring_health_agent": agent}, "hosts": hosts}
    groups = {"profile_hgx_h100_ib": {"children": {"rack_12": {}}}, "rack_12": rack}
    (folder / "site").mkdir(parents=True)
    (folder / "site" / "hosts.yml").write_text(yaml.safe_dump({"all": {"children": groups}}))
    settings: dict[str, Any] = {"inventory": [str(ROOT / "inventory" / "common"), "site"], "state_dir": "state"}
    if pool:
        (folder / "plugins").mkdir()
        (folder / "plugins" / "busy_site_pool.py").write_text(_POOL)
        settings["pool"] = {"kind": "busy_site_pool:BusySitePool"}
    (folder / "clusterctl.yml").write_text(yaml.safe_dump(settings))
    with fresh(folder / "state") as store:
        _write_record(store)
    return IsvSite(folder)


def _write_record(store: Store) -> None:
    nodes = [a_node(n, rack="rack-12", slot=i) for i, n in enumerate((GOOD, BUSY, BAD, GONE), 1)]
    store.register([replace(n, groups=("all", "rack_12", "profile_lab")) for n in nodes])
    store.start_run(a_run(), [n.name for n in nodes])
    for name in (GOOD, BUSY):
        burn_in(store, a_run(), name)
        bring(store, name, State.ADMITTED, run_id=a_run().id)
    store.transition(BAD, State.QUARANTINED, run_id=a_run().id, operator="alice", reason="rdma_pair mlx5_3 is slow")
    bring(store, GONE, State.RETIRED)
    begins, ends = (after(clock.now(), days * 86_400) for days in (1, 2))
    store.announce(BUSY, [BUSY, GONE], Period(begins, ends), operator="ada", reason="new switch")
    for name in (GOOD, BUSY, BAD, GONE):
        gpus = [Part("gpu", f"0000:0{i}:00.0", f"GPU {i}", "H100", f"{name}-gpu-{i}") for i in range(8)]
        store.save_parts(a_run().id, name, [*gpus, *(Part(kind, "", kind, "XE9680", f"{name}-{kind}") for kind in _KINDS)])
