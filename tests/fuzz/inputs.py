"""Hostile servers, commands and files: whatever a BMC, an API server or scontrol answers, and whatever stands in a plan or in clusterctl.yml.

The oracle: an answer is used, or refused by an error of clusterctl. A node that is out is shown as a member only by an answer that says so itself.
"""

from __future__ import annotations

import json
import os
import re
import tempfile
from contextlib import suppress
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

from clusterctl.adapters.bmc.access import BmcAccess
from clusterctl.adapters.bmc.host_power import BmcLimits
from clusterctl.adapters.bmc.read_report import read_report
from clusterctl.adapters.config import read_config
from clusterctl.adapters.pools.kubernetes import KubernetesPool, KubernetesSettings
from clusterctl.adapters.pools.kubernetes_api import KubernetesApi
from clusterctl.adapters.pools.loader import check_pool
from clusterctl.adapters.pools.read_back import is_member
from clusterctl.adapters.pools.slurm import SlurmPool, SlurmSettings
from clusterctl.adapters.pools.slurm_commands import SlurmCommands
from clusterctl.adapters.ssh.read_parts import parse_answer
from clusterctl.core.parsers.host_log import dmesg_entries, journal_entries
from clusterctl.core.saved_plan import parse_saved_plan
from clusterctl.model.bmc_report import BmcReport, BmcSection
from clusterctl.model.errors import ClusterctlError
from clusterctl_tools.port_info import UnreadablePortInfoError, parse_record_level
from clusterctl_tools.redfish import BmcAnswer
from clusterctl_validators.finding import Outcome
from clusterctl_validators.sources import CommandResult
from clusterctl_validators.vendor_nvidia import VENDOR
from support.port_info import finding, subnets
from support.recorded import RECORDED
from support.redfish_tree import invented, recorded_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from clusterctl.adapters.pools.base import Pool
    from clusterctl.model.node_log import HostLogEntry
    from clusterctl_tools.redfish import BmcRequest

NAME = "r12-n01"
# That of the recorded subnets.
_OPEN_KEY = "1234abcd5678ef01"
_TAINT = {"key": "clusterctl/out-of-pool", "value": "true", "effect": "NoSchedule"}
_NODE = {
    "kind": "Node",
    "metadata": {"name": NAME, "resourceVersion": "1", "labels": {"a": "b"}, "annotations": {"clusterctl/reason": "clusterctl: drained"}},
    "spec": {"taints": [_TAINT]},
    "status": {"conditions": [{"type": "Ready", "status": "True"}]},
}
NODES = [json.dumps(_NODE), json.dumps({"metadata": {"continue": ""}, "items": [_NODE]}), json.dumps({"message": "no", "code": 403})]
# printed by Slurm 22.05.8, shortened
SLURM = (
    f"NodeName={NAME} Arch=x86_64 CoresPerSocket=1  CPUTot=2 AvailableFeatures=h100,ndr ActiveFeatures=h100 Gres=(null) Version=22.05.8 "
    "RealMemory=1000 State=IDLE+DRAIN ThreadsPerCore=1 Owner=N/A MCS_label=N/A Partitions=gpu,all  BootTime=2026-11-22T18:04:32 "
    "CfgTRES=cpu=2,mem=1000M,billing=2 Reason=clusterctl: drained [root@2026-11-22T21:44:09]\n"
)
_USABLE = re.compile(r"\bState=(?!\S*(?:DRAIN|DOWN|FAIL|UNKNOWN|FUTURE|ERROR|INVALID))\S* ")
PLAN = json.dumps(
    {
        "schema_version": 1,
        "target": "rack-12",
        "nodes": [
            {
                "node": NAME,
                "state": "drained",
                "action": "apply",
                "spec_digest": "d1",
                "roles": [{"role": "kernel", "why": "2 of 8 checks fail"}],
                "failing": [{"check": "kernel.packages", "found": "1"}],
            }
        ],
    },
    indent=1,
)
CONFIG = """inventory: ["@common", inventory/mysite]
state_dir: .clusterctl
pool: {kind: slurm, partition: gpu, features: [admitted], timeout_s: 60}
cpu_quota_percent: 50
reboot_budget: 50%
drift_policy: critical=drain
operator: ada
maintenance_windows: ["Sat 02:00-06:00 Europe/Berlin"]
"""
EVENTS = """events:
  source: https://clusterctl.example.org/site-1
  receivers:
    - {name: pager, webhook: "https://pager.example.org:8443/hook?a=1", token_env: PAGER, types: ["clusterctl.node.*"], timeout_s: 2.5, attempts: 3}
    - {name: log, command: [logger, -t, clusterctl]}
"""
JOURNAL = """{"__REALTIME_TIMESTAMP":"1795819014667336","PRIORITY":"4","_BOOT_ID":"be54","SYSLOG_IDENTIFIER":"kernel","MESSAGE":[78,27,255]}
{"__REALTIME_TIMESTAMP":"1795819014667300","MESSAGE":["a",[98]],"_COMM":"sshd"}
{"__REALTIME_TIMESTAMP":"1795819014667299","MESSAGE":null}
"""
DMESG = """kern  :warn  : 2026-11-27T22:37:10,498559+01:00 NVRM: Xid (PCI:0000:38:00): 13, pid='<unknown>'
  second line
2026-11-27T22:37:11,498559+00:00 veth2: entered promiscuous mode
"""
PARTS = "".join(
    f"\n=== clusterctl {name}\n{body}\n=== clusterctl end 0\n"
    for name, body in {
        "dmi": "Handle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\tProduct Name: XE9680\n\tSerial Number: S1\n",
        "gpu": "0, 00000000:18:00.0, A, H100",
        "nic": "mlx5_0 0000:1a:00.0 ggMAQ1g3kAcAU04ETVQwMXg=",
        "nvme": "nvme0 0000:01:00.0\tS6XX   \tSAMSUNG\tnvme0n1",
    }.items()
)
_LOGGED_AT = re.compile(r"[0-9]{1,4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{6}Z")


def input_targets() -> list[tuple[str, list[str], Callable[[str], str]]]:
    """(name, corpus, check) of each."""
    trees = [invented(), *([recorded_tree("libredfish-dell")] if (RECORDED / "redfish" / "libredfish-dell").exists() else [])]
    answers = [f"{path}\n{json.dumps(resource)}" for tree in trees for path, resource in list(tree.items())[:40]]
    return [
        ("input BMC", answers, lambda text: _bmc(trees[0], text)),
        ("input API server", NODES, _api_server),
        ("input scontrol", [SLURM, SLURM + SLURM.replace(NAME, "r12-n02")], _scontrol),
        ("input plan", [PLAN], _plan),
        ("input journal", [JOURNAL], lambda text: _host_log(journal_entries(text)[0])),
        ("input parts", [PARTS], _parts),
        ("input dmesg", [DMESG], lambda text: _host_log(dmesg_entries(text)[0])),
        ("input config", [CONFIG, EVENTS], _config),
        ("input smpquery", [s.answer("smpquery").stdout for s in subnets() if s.outcome != "pass"], _port_info),
        ("input saquery", [s.answer("saquery").stdout for s in subnets() if s.key], _port_record),
    ]


def _bmc(tree: dict[str, Any], text: str) -> str:
    """One resource is hostile, or all where its path is spoiled, too."""
    path, _, body = text.partition("\n")

    def answer(_host: str, _context: object, request: BmcRequest, _limit_s: float) -> BmcAnswer:
        hostile = request.path == path or path not in tree
        found = body.encode(errors="surrogatepass") if hostile else json.dumps(tree.get(request.path, {})).encode()
        return BmcAnswer(200, "OK", found)

    access = BmcAccess(NAME, "https://192.0.2.1", "u", "p", readonly_user="r", readonly_password="p")
    with patch("clusterctl_tools.redfish.exchange", answer), patch("clusterctl.adapters.bmc.accounts._PAUSE_S", 0.0):
        report: object = read_report(access, BmcLimits(5, verify=False), tuple(BmcSection), 3)
    return "" if isinstance(report, BmcReport) else "no report"


def _host_log(entries: Sequence[HostLogEntry]) -> str:
    """Every entry has a time and can be printed."""
    for entry in entries:
        if not _LOGGED_AT.fullmatch(entry.at):
            return f"no time: {entry.at!r}"
        "".join((entry.boot, entry.level, entry.program, entry.message or "")).encode()
    return ""


def _parts(text: str) -> str:
    """Every part has a serial number."""
    return "" if all(part.serial for part in parse_answer(NAME, VENDOR, text).parts) else "a part without a serial number"


def _port_info(text: str) -> str:
    """No answer of a port is a protection, and no finding has the key."""
    found = finding(Path(os.devnull), CommandResult(0, text), lid="")
    if found.outcome is Outcome.PASS:
        return "a port that answers without the key passes"
    return "a finding has the key" if _OPEN_KEY in repr(found) else ""


def _port_record(text: str) -> str:
    with suppress(UnreadablePortInfoError):
        level = parse_record_level(text)
        if text.count("ProtectBits:") != 1 or not re.search(rf"ProtectBits:\.*{level}(\s|$)", text):
            return "a level that the record does not have"
    return ""


def _api_server(text: str) -> str:
    def answer(*_args: object, **_words: object) -> object:
        return SimpleNamespace(data=text.encode(errors="surrogatepass"))

    api = KubernetesApi.__new__(KubernetesApi)
    names = ("list_node", "read_node", "patch_node", "patch_node_status", "list_pod_for_all_namespaces")
    vars(api).update(_api=SimpleNamespace(**dict.fromkeys(names, answer)), _timeout_s=30.0, _eviction_version="policy/v1")
    return _pool(KubernetesPool(KubernetesSettings(), api), in_answer=_without_taint(text))


def _without_taint(text: str) -> bool:
    """Whether a node with a `spec` and without our taint stands in an answer."""
    try:
        answer = json.loads(text)
        nodes = answer.get("items") or [answer]
        return any(_TAINT["key"] not in [taint["key"] for taint in n["spec"].get("taints") or []] for n in nodes)
    except (AttributeError, LookupError, RecursionError, TypeError, ValueError):
        return False


def _scontrol(text: str) -> str:
    commands = SlurmCommands("", 30.0)
    with patch.object(commands, "_run", lambda *_words: text):
        return _pool(SlurmPool(SlurmSettings(answer_s=0), commands), in_answer=_USABLE.search(text) is not None)


def _pool(pool: Pool, *, in_answer: bool) -> str:
    """Everything that reads or changes a node."""
    reads: tuple[Callable[[], bool], ...] = (lambda: NAME in pool.members(), lambda: is_member(pool, NAME))
    changes: tuple[Callable[[], object], ...] = (
        lambda: pool.removed_since("2026"),
        lambda: pool.admit(NAME, "admitted"),
        lambda: pool.remove(NAME, "out"),
    )
    shown = False
    for read in reads:
        with suppress(ClusterctlError):
            shown = read() or shown
    for change in changes:
        with suppress(ClusterctlError):
            change()
    return "" if in_answer or not shown else "a node that is out is shown as a member"


def _plan(text: str) -> str:
    with suppress(ClusterctlError):
        parse_saved_plan(text, Path("plan.json"))
    return ""


def _config(text: str) -> str:
    with tempfile.TemporaryDirectory(prefix="clusterctl-fuzz-") as folder, suppress(ClusterctlError):
        (Path(folder) / "clusterctl.yml").write_bytes(text.encode(errors="surrogatepass"))
        check_pool(read_config(start=Path(folder)).pool)
    return ""
