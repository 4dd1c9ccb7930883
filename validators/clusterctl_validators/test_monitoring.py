"""Exporters: pinned packages, hardened units as declared, enabled and active, and a metric of their own at their port."""

import re
from typing import Any, Dict, List, Mapping, NamedTuple

from clusterctl_tools import ip_route
from clusterctl_tools.systemctl import parse_properties, show_argv
from clusterctl_validators.file_mode import FileMode, read_mode
from clusterctl_validators.finding import Severity
from clusterctl_validators.health_agent import check_gpud, check_nvsentinel
from clusterctl_validators.pinned_packages import check_package
from clusterctl_validators.probe import Probe, ProbeError
from clusterctl_validators.record import Record

ROLE = "monitoring"
LEFT_BY_ROLE = ("monitoring.*.persisted", "monitoring.*.mode", "monitoring.*.unit.*", "monitoring.*.content")
Spec = Mapping[str, Any]

COUNTERS_FILE = "/etc/dcgm-exporter/clusterctl-counters.csv"
NODE_UNIT = "prometheus-node-exporter.service"
DCGM_UNIT = "nvidia-dcgm-exporter.service"
# No proxy: the request must not leave the machine.
_FETCH = "import sys, urllib.request as u; print(u.build_opener(u.ProxyHandler({})).open(sys.argv[1], timeout=float(sys.argv[2])).read().decode())"
_HARDENED = {"NoNewPrivileges": "yes", "ProtectSystem": "strict", "PrivateTmp": "yes", "ProtectKernelTunables": "yes"}
MANAGEMENT = "management"
_PROVISION = "run `clusterctl provision NODE`"


class Exporter(NamedTuple):
    """One exporter as declared."""

    name: str
    enabled: bool
    unit: str
    listen: str
    argv: List[str]
    metric: str
    dynamic_user: str


def _exporters(spec: Spec, probe: Probe) -> List[Exporter]:
    textfile = spec["monitoring_textfile_dir"]
    ethtool = spec["monitoring_node_ethtool_metrics"] if "ethtool" in spec["monitoring_node_collectors"] else []
    node_listen, dcgm_listen = (_resolved(spec[name], probe) for name in ("monitoring_node_listen", "monitoring_dcgm_listen"))
    node = ["/usr/bin/prometheus-node-exporter", "--web.listen-address=" + node_listen]
    node += ["--collector." + name for name in spec["monitoring_node_collectors"]]
    node += ["--no-collector." + name for name in spec["monitoring_node_collectors_off"]]
    # A unit file has a dollar sign twice.
    node += ["--collector.ethtool.metrics-include=^({})$$".format("|".join(ethtool))] if ethtool else []
    node += ["--collector.textfile.directory=" + textfile] if textfile else []
    engine = spec["monitoring_dcgm_host_engine"]
    dcgm = ["/usr/bin/dcgm-exporter", "--address=" + dcgm_listen, "--collectors=" + COUNTERS_FILE]
    dcgm += ["--remote-hostengine-info=" + engine] if engine else []
    dcgm += ["--collect-interval={}".format(spec["monitoring_dcgm_interval_ms"])]
    fields = [counter["field"] for counter in spec["monitoring_dcgm_counters"]]
    return [
        Exporter("node", spec["monitoring_node_exporter"], NODE_UNIT, node_listen, node, "node_exporter_build_info", "yes"),
        Exporter(
            "dcgm",
            spec["monitoring_dcgm_exporter"],
            DCGM_UNIT,
            dcgm_listen,
            dcgm,
            fields[0] if fields else "no counter is declared",
            "yes" if engine else "absent",
        ),
    ]


def _resolved(listen: str, probe: Probe) -> str:
    """An address to listen on, with the node's own in place of `management`.

    Raises:
        ProbeError: the node has no default route.
    """
    if not listen.startswith(MANAGEMENT + ":"):
        return listen
    ways = (probe.run(ip_route.default_route_argv(beyond)) for beyond in ip_route.BEYOND)
    source = next(filter(None, (ip_route.source_address(way.stdout) for way in ways if not way.error and way.rc == 0)), "")
    if not source:
        raise ProbeError("ip route get names no address of this node on a default route, of IPv4 or IPv6")
    return source + listen[len(MANAGEMENT) :]


def test_packages(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["monitoring_packages"]:
        record.not_applicable("monitoring.packages", "none are declared")
    for package in spec["monitoring_packages"]:
        check_package(record, probe, package, spec["monitoring_hold"])


def test_units(spec: Spec, record: Record, probe: Probe) -> None:
    """The unit starts the declared command with minimal privileges, now and at boot."""
    for exporter in _exporters(spec, probe):
        check = "monitoring.{}.service".format(exporter.name)
        unit = probe.units([exporter.unit])[exporter.unit]
        if not exporter.enabled:
            off = unit.active_state not in ("active", "activating") and unit.file_state not in ("enabled", "enabled-runtime")
            found = "{} {}".format(unit.active_state, unit.file_state)
            record.ok(check + ".off", off, expected="absent or off", found=found, hint=_PROVISION)
            continue
        hint = "systemctl status {0}; journalctl -b -u {0}".format(exporter.unit)
        record.equal(check + ".running", "active", unit.active_state, hint=hint)
        record.equal(check + ".persisted", "enabled", unit.file_state, hint="systemctl enable " + exporter.unit)
        path = "/etc/systemd/system/" + exporter.unit
        _mode(record, probe, "monitoring.{}.unit".format(exporter.name), path)
        values = _values(probe.read(path) or "")
        at = "monitoring.{}.unit.".format(exporter.name)
        record.equal(at + "starts", " ".join(exporter.argv), values.get("ExecStart", "absent"), hint=_PROVISION)
        limit = int(spec["monitoring_memory_max_mib"])
        expected = {**_HARDENED, "DynamicUser": exporter.dynamic_user, "MemoryMax": "{}M".format(limit) if limit else "absent"}
        for key, value in expected.items():
            record.equal(at + key, value, values.get(key, "absent"), hint=_PROVISION)


def test_running_memory_limit(spec: Spec, record: Record, probe: Probe) -> None:
    """The limit that systemd applies; a drop-in may have changed it."""
    limit = int(spec["monitoring_memory_max_mib"])
    for exporter in _exporters(spec, probe):
        if not exporter.enabled:
            continue
        check = "monitoring.{}.memory_max".format(exporter.name)
        shown = probe.run(show_argv(["MemoryMax"], [exporter.unit]))
        if shown.error or shown.rc != 0:
            record.could_not_run(check, shown.error or "systemctl: exit {}".format(shown.rc))
            continue
        expected = str(limit * 1048576) if limit else "infinity"
        record.equal(
            check,
            expected,
            parse_properties(shown.stdout).get("MemoryMax", ""),
            hint="systemctl cat {}: look for drop-ins".format(exporter.unit),
        )


def test_answers(spec: Spec, record: Record, probe: Probe) -> None:
    """Each exporter serves one of its own metrics at its address and port."""
    timeout_s = int(spec["monitoring_answer_timeout_s"])
    for exporter in _exporters(spec, probe):
        if not exporter.enabled:
            continue
        check = "monitoring.{}.answers".format(exporter.name)
        url = "http://{}/metrics".format(re.sub(r"^(0\.0\.0\.0|\[::\])?:", "127.0.0.1:", exporter.listen))
        answer = probe.run(["python3", "-I", "-c", _FETCH, url, str(timeout_s)], timeout_s=timeout_s + 5)
        if answer.error:
            record.could_not_run(check, answer.error)
            continue
        match = re.search("^{}[ {{]".format(re.escape(exporter.metric)), answer.stdout, re.MULTILINE)
        reason = (answer.stderr.strip().splitlines() or ["no such metric at " + url])[-1]
        hint = "systemctl status {}; from another machine a firewall of the node must let the port through".format(exporter.unit)
        found = exporter.metric if match else reason
        record.ok(check, bool(match), expected=exporter.metric, found=found, severity=Severity.MAJOR, hint=hint)


def test_health_agent(spec: Spec, record: Record, probe: Probe) -> None:
    """The agent that the site requires runs and answers."""
    agent = spec["monitoring_health_agent"]
    if not agent:
        record.not_applicable("monitoring.health_agent", "none is required")
    else:
        {"gpud": check_gpud, "nvsentinel": check_nvsentinel}[agent](record, probe)


def test_textfile_dir(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["monitoring_textfile_dir"] or not spec["monitoring_node_exporter"]:
        record.not_applicable("monitoring.textfile_dir", "none is declared")
        return
    _mode(record, probe, "monitoring.textfile_dir", spec["monitoring_textfile_dir"], "root 755")


def test_counters(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["monitoring_dcgm_exporter"]:
        record.not_applicable("monitoring.dcgm.counters", "no DCGM exporter is declared")
        return
    _mode(record, probe, "monitoring.dcgm.counters", COUNTERS_FILE)
    text = probe.read(COUNTERS_FILE) or ""
    found = [", ".join(part.strip() for part in line.split(",", 2)) for line in text.splitlines() if line and not line.startswith("#")]
    declared = ["{field}, {type}, {help}".format(**counter) for counter in spec["monitoring_dcgm_counters"]]
    other = sorted(set(declared).symmetric_difference(found))
    record.ok(
        "monitoring.dcgm.counters.content",
        found == declared,
        expected="{} counters".format(len(declared)),
        found="; ".join(other) or ("the same" if found == declared else "different order"),
        hint=_PROVISION,
    )


def _mode(record: Record, probe: Probe, check: str, path: str, expected: str = "root 644") -> None:
    mode = read_mode(probe, path)
    words = "{0.owner} {0.mode}".format(mode) if isinstance(mode, FileMode) else "absent"
    record.equal(check + ".mode", expected, words, severity=Severity.MINOR, hint=_PROVISION)


def _values(text: str) -> Dict[str, str]:
    """Key -> last value, from a unit file."""
    pairs = (line.partition("=") for line in text.splitlines() if "=" in line and line[0] not in "#;")
    return {key.strip(): value.strip() for key, _, value in pairs}
