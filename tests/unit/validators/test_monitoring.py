from __future__ import annotations

import re
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import TYPE_CHECKING, Any

import jinja2
import pytest

from clusterctl_lab.simulator import dcgm_exporter, machine, node_exporter
from clusterctl_validators import test_monitoring as module
from clusterctl_validators.finding import GOOD, Outcome
from clusterctl_validators.probe import CommandResult, ProbeError
from support.checks import run_checks, write_files
from support.gpu_node import DPKG, declared, dpkg, systemctl, unit
from support.lab_machine import lab_machine
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

TEMPLATES = ROOT / "roles" / "monitoring" / "templates"
MANAGEMENT = "192.0.2.11"
NODE, DCGM = f"http://{MANAGEMENT}:9100/metrics", f"http://{MANAGEMENT}:9400/metrics"
ROUTE = "ip -oneline route get 192.0.2.1"
UNITS = (module.NODE_UNIT, module.DCGM_UNIT)
NO_UNIT = "LoadState=not-found\nActiveState=inactive\nUnitFileState=\n"


def rendered(name: str, values: dict[str, Any]) -> str:
    """A template as Ansible renders it."""
    env = jinja2.Environment(trim_blocks=True, autoescape=False)  # noqa: S701 no HTML
    listen = {k: {"listen": values[f"monitoring_{k}_listen"].replace("management:", f"{MANAGEMENT}:")} for k in ("node", "dcgm")}
    known = {"__monitoring_counters_file": module.COUNTERS_FILE, **{f"__monitoring_{k}": v for k, v in listen.items()}}
    return env.from_string((TEMPLATES / name).read_text()).render({**known, **values})


def ask(url: str, timeout_s: int = 30) -> str:
    return " ".join(["python3", "-I", "-c", module._FETCH, url, str(timeout_s)])


def memory(name: str) -> str:
    return f"systemctl show -p MemoryMax -- {name}"


def check(
    root: Path, outputs: dict[str, Any] | None = None, files: dict[str, str] | None = None, variables: dict[str, Any] | None = None
) -> dict[str, str]:
    """Failed checks of a provisioned node that differs by `outputs` and `files`."""
    values = declared("monitoring", **(variables or {}))
    profile = declared("monitoring")
    paths = {
        **{f"/etc/systemd/system/{u}": rendered(f"{u}.j2", profile) for u in UNITS},
        module.COUNTERS_FILE: rendered("counters.csv.j2", profile),
    }
    commands: dict[str, CommandResult | str] = {
        DPKG: dpkg(profile["monitoring_packages"]),
        **{systemctl(u): unit() for u in UNITS},
        **{memory(u): "MemoryMax=536870912\n" for u in UNITS},
        **{f"stat -c %U %a {path}": "root 644\n" for path in paths},
        "stat -c %U %a /var/lib/clusterctl/metrics": "root 755\n",
        ROUTE: f"192.0.2.1 via 192.0.2.254 dev eno1 src {MANAGEMENT} uid 0 \\    cache \n",
        ask(NODE): 'node_exporter_build_info{version="1.7.0"} 1\n',
        ask(DCGM): 'DCGM_FI_DEV_GPU_TEMP{gpu="0"} 30\n',
        **(outputs or {}),
    }
    findings = run_checks(module, values, write_files(root, {**paths, **(files or {})}), commands)
    bad = {n.removeprefix("monitoring."): f for n, f in findings.items() if f.outcome not in GOOD}
    return {n: "could not run" if f.outcome is Outcome.COULD_NOT_RUN else f.found for n, f in bad.items()}


def test_the_files_of_the_role_pass(tmp_path: Path) -> None:
    assert check(tmp_path) == {}


@pytest.mark.parametrize(
    ("outputs", "faults"),
    [
        (
            {systemctl(module.NODE_UNIT): unit("failed", "disabled")},
            {"node.service.running": "failed", "node.service.persisted": "disabled"},
        ),
        ({memory(module.DCGM_UNIT): "MemoryMax=infinity\n"}, {"dcgm.memory_max": "infinity"}),
        ({memory(module.DCGM_UNIT): CommandResult(1)}, {"dcgm.memory_max": "could not run"}),
        ({ask(NODE): "another_metric 1\n"}, {"node.answers": f"no such metric at {NODE}"}),
        (
            {ask(DCGM): CommandResult(1, stderr="Traceback\nurllib.error.URLError: refused")},
            {"dcgm.answers": "urllib.error.URLError: refused"},
        ),
        ({ask(DCGM): CommandResult(None, error="timed out after 35 s")}, {"dcgm.answers": "could not run"}),
        ({"stat -c %U %a /var/lib/clusterctl/metrics": CommandResult(1)}, {"textfile_dir.mode": "absent"}),
        (
            {DPKG: "prometheus-node-exporter\t1.7.0-1\tinstall\tinstalled\n"},
            {
                "package[prometheus-node-exporter].held": "not held",
                "package[datacenter-gpu-manager-exporter].version": "absent",
            },
        ),
    ],
)
def test_node_output(outputs: dict[str, Any], faults: dict[str, str], tmp_path: Path) -> None:
    assert check(tmp_path, outputs) == faults


def test_a_changed_unit(tmp_path: Path) -> None:
    path = f"/etc/systemd/system/{module.NODE_UNIT}"
    text = rendered(f"{module.NODE_UNIT}.j2", declared("monitoring"))
    changed = text.replace(f"{MANAGEMENT}:9100", ":9100").replace("DynamicUser=yes", "User=root").replace("MemoryMax=512M\n", "")
    faults = check(tmp_path, files={path: changed})
    assert set(faults) == {"node.unit.starts", "node.unit.DynamicUser", "node.unit.MemoryMax"}


def test_changed_counters(tmp_path: Path) -> None:
    text = rendered("counters.csv.j2", declared("monitoring")).replace("DCGM_FI_DEV_XID_ERRORS, gauge", "DCGM_FI_DEV_XID_ERRORS, counter")
    assert set(check(tmp_path, files={module.COUNTERS_FILE: text})) == {"dcgm.counters.content"}


def test_zero_false_and_empty(tmp_path: Path) -> None:
    none = {
        "monitoring_node_exporter": False,
        "monitoring_dcgm_exporter": False,
        "monitoring_packages": [],
        "monitoring_textfile_dir": "",
        "monitoring_memory_max_mib": 0,
    }
    off = {systemctl(u): NO_UNIT for u in UNITS}
    assert check(tmp_path, off, variables=none) == {}
    assert check(tmp_path / "left", variables=none) == {"node.service.off": "active enabled", "dcgm.service.off": "active enabled"}


def test_no_memory_limit_and_a_separate_host_engine() -> None:
    values = declared("monitoring", monitoring_memory_max_mib=0, monitoring_dcgm_host_engine="", monitoring_textfile_dir="")
    dcgm, node = (rendered(f"{u}.j2", values) for u in (module.DCGM_UNIT, module.NODE_UNIT))
    assert "MemoryMax" not in dcgm + node
    assert "DynamicUser" not in dcgm
    assert "--remote-hostengine-info" not in dcgm
    assert "textfile" not in node


def test_an_exporter_on_all_addresses_is_queried_on_the_loopback(tmp_path: Path) -> None:
    variables = {"monitoring_node_listen": ":9100", "monitoring_dcgm_listen": "0.0.0.0:9400"}
    answers = {
        ask("http://127.0.0.1:9100/metrics"): "node_exporter_build_info{} 1\n",
        ask("http://127.0.0.1:9400/metrics"): "DCGM_FI_DEV_GPU_TEMP{} 30\n",
    }
    assert set(check(tmp_path, answers, variables=variables)) == {"node.unit.starts", "dcgm.unit.starts"}


class Metrics(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"up 1\n")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 the base class names it so
        """Quiet."""


def test_the_request_is_really_sent() -> None:
    server = HTTPServer(("127.0.0.1", 0), Metrics)
    threading.Thread(target=server.handle_request, daemon=True).start()
    argv = [sys.executable, "-I", "-c", module._FETCH, f"http://127.0.0.1:{server.server_port}/metrics", "5"]
    done = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30, env={"http_proxy": "http://127.0.0.1:9"})
    server.server_close()
    assert (done.stdout, done.returncode) == ("up 1\n\n", 0)
    refused = subprocess.run(argv, capture_output=True, text=True, check=False, timeout=30)
    assert refused.returncode == 1
    assert "refused" in refused.stderr


def test_the_simulated_exporters_show_their_metrics(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lab_machine(tmp_path, monkeypatch).gpu_stack()
    monkeypatch.setattr(dcgm_exporter, "DEVICES", str(tmp_path))
    for address in machine.THIS.gpu_addresses[1:]:
        (tmp_path / address).mkdir()
    (tmp_path / "own.prom").write_text("clusterctl_own 1\n")
    assert "clusterctl_own 1" in node_exporter.metrics_text("1.7.0", str(tmp_path))
    fields = dcgm_exporter.parse_counters(rendered("counters.csv.j2", declared("monitoring")))
    text = dcgm_exporter.metrics_text(fields)
    assert len(re.findall(r"^DCGM_FI_DEV_XID_ERRORS\{", text, re.MULTILINE)) == 7
    assert len(fields) == len(declared("monitoring")["monitoring_dcgm_counters"])


def test_a_node_without_a_default_route_cannot_be_judged(tmp_path: Path) -> None:
    with pytest.raises(ProbeError, match="no address of this node on a default route"):
        check(tmp_path, {ROUTE: CommandResult(2, stderr="RTNETLINK answers: Network is unreachable")})


def test_an_exporter_that_listens_on_the_loopback_only_is_a_difference(tmp_path: Path) -> None:
    path = f"/etc/systemd/system/{module.NODE_UNIT}"
    text = rendered(f"{module.NODE_UNIT}.j2", declared("monitoring")).replace(MANAGEMENT, "127.0.0.1")
    refused = {ask(NODE): CommandResult(1, stderr="urllib.error.URLError: refused")}
    assert set(check(tmp_path, refused, {path: text})) == {"node.unit.starts", "node.answers"}


def test_the_statistics_of_ethtool_are_selected() -> None:
    text = rendered(
        f"{module.NODE_UNIT}.j2", declared("monitoring", monitoring_node_ethtool_metrics=["rx_out_of_buffer", "rx_prio[0-7]_pause"])
    )
    assert "--collector.ethtool.metrics-include=^(rx_out_of_buffer|rx_prio[0-7]_pause)$$ --collector.textfile" in text
    assert "metrics-include" not in rendered(f"{module.NODE_UNIT}.j2", declared("monitoring", monitoring_node_ethtool_metrics=[]))


def test_without_the_collector_of_ethtool_its_statistics_are_not_selected(tmp_path: Path) -> None:
    off = {"monitoring_node_collectors": ["systemd"]}
    text = rendered(f"{module.NODE_UNIT}.j2", declared("monitoring", **off))
    assert "ethtool" not in text
    assert check(tmp_path, files={f"/etc/systemd/system/{module.NODE_UNIT}": text}, variables=off) == {}
