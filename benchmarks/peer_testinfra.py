"""The same validators, run by testinfra from the controller through each of its remote backends."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from cpu_cost import CannotMeasureError, FinishedCommand
from peer_cost import PeerCost, cost_per_node

from clusterctl_lab.layout import lab_node

if TYPE_CHECKING:
    from lab_site import Lab
    from node_answer import NodeAnswer

ROOT = Path(__file__).resolve().parents[1]
BACKENDS = ("ssh", "paramiko", "ansible")
_CFG = "[ssh_connection]\npipelining = True\nssh_args = -o ControlMaster=auto -o ControlPersist=60s\ncontrol_path = {}/%%C\n"
_NAMED_AT_MOST = 5
# These read at least one file for each of 224 CPUs, each with its own remote command, which takes minutes. They are excluded only here, not from
# the bundle, which favours the peer.
EXCLUDED = {
    "test_governor": "os_tuning.governor.",
    "test_energy_bias": "os_tuning.energy_perf_bias.",
    "test_idle_states": "os_tuning.idle_latency_max_us.",
}
_CHECK_TIMEOUT_S = 300


def measure_backend(lab: Lab, peers: Path, backend: str, bundle: NodeAnswer) -> PeerCost:
    """The cost of one backend with a shared connection per node, which paramiko always has.

    Raises:
        CannotMeasureError: a run failed, or its checks or outcomes differ from those of the bundle on the node.
    """
    spec, findings, cfg = lab.site / "spec.json", lab.site / f"testinfra-{backend}.json", lab.site / "testinfra.cfg"
    spec.write_bytes(bundle.request)
    cfg.write_text(_CFG.format(str(lab.sockets)))
    by_name = backend == "ansible"
    more = ["--ansible-inventory", str(lab.paths.hosts_dir)] if by_name else ["--ssh-config", str(lab.ssh_config())]

    expected_outcomes = {c: o for c, o in bundle.outcomes.items() if not c.startswith(tuple(EXCLUDED.values()))}

    def argv(names: tuple[str, ...]) -> list[str]:
        hosts = ",".join(f"{backend}://{n if by_name else lab_node(n).address}" for n in names)
        plugins = ["-p", "no:cacheprovider", "-p", "clusterctl_validators.plugin", "-p", "count_findings"]
        rootless = ["-c", "/dev/null", "--rootdir", str(lab.site)]
        return [
            str(peers / "pytest"),
            "-q",
            "--tb=no",
            *plugins,
            *rootless,
            "--spec",
            str(spec),
            "-k",
            " and ".join(f"not {name}" for name in EXCLUDED),
            "--check-timeout",
            str(_CHECK_TIMEOUT_S),
            "--hosts",
            hosts,
            *more,
        ]

    def count(_ran: FinishedCommand, names: tuple[str, ...]) -> int:
        found: dict[str, dict[str, str]] = json.loads(findings.read_text())
        findings.unlink()
        everywhere = found.pop("*", {})
        expected = {n if by_name else lab_node(n).address for n in names}
        if set(found) != expected:
            raise CannotMeasureError(f"checks ran on {sorted(found)}, not on {sorted(expected)}")
        for host, own in found.items():
            _require_same_outcomes(expected_outcomes, own | everywhere, host)
        return len(expected_outcomes)

    python_path = f"{ROOT / 'tools'}:{ROOT / 'validators'}:{ROOT / 'benchmarks' / 'peers'}"
    env = lab.environment(peers, PYTHONPATH=python_path, BENCH_FINDINGS=str(findings), ANSIBLE_CONFIG=str(cfg))
    return cost_per_node(lab, argv, count, "checks", env=env, good=(0, 1))


def _require_same_outcomes(bundle: dict[str, str], other: dict[str, str], host: str) -> None:
    """Check that both have the same checks with the same outcomes.

    Raises:
        CannotMeasureError: they differ.
    """
    names = sorted(set(bundle) ^ set(other))
    if names:
        raise CannotMeasureError(f"{host}: {len(other)} checks, the bundle has {len(bundle)}; e.g. {names[:_NAMED_AT_MOST]}")
    differ = sorted(c for c, outcome in other.items() if bundle[c] != outcome)
    if differ:
        kinds = Counter(f"{bundle[c]} -> {other[c]}" for c in differ)
        raise CannotMeasureError(f"{host}: outcomes differ from the bundle's: {dict(kinds)}, e.g. {differ[:_NAMED_AT_MOST]}")
