"""InfiniBand ports: link, partitions, subnet manager, M_Key, SHARP, counters since the last snapshot, IPoIB, cabling."""

import json
from ipaddress import ip_interface
from typing import Any, Dict, List, Mapping

from clusterctl_tools.infiniband_diags import UnreadableFabricError, links_argv, manager_argv, parse_iblinkinfo, parse_manager
from clusterctl_validators import interface_owner, rail_routing
from clusterctl_validators.boot_log import seconds_of
from clusterctl_validators.cabling import check_cabling
from clusterctl_validators.counter_growth import UnreadableSnapshotError, over, parse_snapshot, values_text
from clusterctl_validators.finding import Severity
from clusterctl_validators.installed_files import check_files
from clusterctl_validators.management_key import check_management_key, is_managed
from clusterctl_validators.pinned_packages import check_present
from clusterctl_validators.probe import Probe, ProbeError
from clusterctl_validators.rail_interface import interface_of
from clusterctl_validators.rdma_sysfs import read_port
from clusterctl_validators.record import Record

ROLE = "infiniband"
LEFT_BY_ROLE = ("infiniband.*.persisted", "infiniband.takeover.files")
# A port is INIT until the subnet manager has seen it.
AFTER_BOOT = ("infiniband.ports.link", "infiniband.ports.rate_gbps", "infiniband.ports.pkeys", "infiniband.ports.subnet_manager")
Spec = Mapping[str, Any]
CONFIG = "/etc/clusterctl/infiniband.json"
_ADMINISTERED = "no answer to sminfo, but of the subnet administration"
SNAPSHOT = "/run/clusterctl/infiniband-counters.json"
UNIT = "clusterctl-infiniband.service"
APPLY = "run `systemctl start {}`, or apply the role infiniband".format(UNIT)
FILES = {
    "/usr/local/sbin/clusterctl-infiniband": "755",
    "/etc/systemd/system/" + UNIT: "644",
    "/etc/udev/rules.d/90-clusterctl-infiniband.rules": "644",
}
_FULL_MEMBER = 0x8000
_CABLE = "reseat and clean the cable at both ends, then replace transceivers and cable, then the HCA, then the switch port"


class Port:
    """A declared port. `id` is the prefix of its checks."""

    def __init__(self, declared: Mapping[str, Any]) -> None:
        self.device = str(declared["device"])
        self.number = int(declared.get("port") or 1)
        self.name = self.device if self.number == 1 else "{}/{}".format(self.device, self.number)
        self.id = "infiniband.ports[{}].".format(self.name)
        self.sysfs = "/sys/class/infiniband/{}/ports/{}/".format(self.device, self.number)


def _ports(spec: Spec) -> List[Port]:
    return [Port(p) for p in spec["infiniband_ports"]]


def test_packages(spec: Spec, record: Record, probe: Probe) -> None:
    check_present(record, probe, spec["infiniband_packages"] if spec["infiniband_ports"] else [])


def test_links(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["infiniband_ports"]:
        record.not_applicable("infiniband.ports", "no port is declared")
    for declared in spec["infiniband_ports"]:
        port, rate = Port(declared), float(declared["rate_gbps"])
        link = read_port(probe, port.device, port.number)
        hint = "{}: {}; INIT means that no subnet manager has configured the port".format(port.name, _CABLE)
        found = "{}, {}, {}".format(link.link_layer, link.state, link.phys_state) if link else "absent"
        record.equal(port.id + "link", "InfiniBand, ACTIVE, LinkUp", found, severity=Severity.CRITICAL, hint=hint)
        if link is None or link.rate_gbps is None:
            record.could_not_run(port.id + "rate_gbps", "the kernel shows no rate", Severity.CRITICAL)
        else:
            expected, shown = "{:g}".format(rate), "{:g}".format(link.rate_gbps)
            record.ok(port.id + "rate_gbps", link.rate_gbps >= rate, expected=expected, found=shown, severity=Severity.CRITICAL, hint=hint)


def test_partitions(spec: Spec, record: Record, probe: Probe) -> None:
    declared = sorted(int(k, 16) for k in spec["infiniband_pkeys"])
    for port in _ports(spec):
        texts = [probe.read(path) for path in probe.glob(port.sysfs + "pkeys/*")]
        assigned = sorted({int(t, 16) for t in texts if t} - {0})
        full = [k for k in assigned if k & _FULL_MEMBER]
        good = set(declared) <= set(assigned) if declared else bool(full)
        expected = ", ".join(map(_hex, declared)) or "any full membership"
        hint = "the subnet manager assigns partition keys: correct its partitions for the GUID of " + port.name
        record.ok(port.id + "pkeys", good, expected=expected, found=", ".join(map(_hex, assigned)) or "none", hint=hint)


def _hex(pkey: int) -> str:
    return "0x{:04x}".format(pkey)


def test_subnet_manager(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["infiniband_subnet_manager"]:
        record.not_applicable("infiniband.subnet_manager", "not declared")
        return
    for port in _ports(spec):
        lid = int(probe.read(port.sysfs + "sm_lid") or "0", 16)
        answer = probe.run(manager_argv(port.device, port.number))
        state = parse_manager(answer.stdout)
        if answer.error:
            record.could_not_run(port.id + "subnet_manager", answer.error)
            continue
        # Where the subnet has an M_Key of level 2 or 3, opensm leaves sminfo unanswered. Only the master answers queries to the subnet administration.
        administered = not state and lid > 0 and is_managed(probe, port.device, port.number)
        found = "{} at lid {}".format(state or (_ADMINISTERED if administered else "no answer"), lid or "0, none")
        good = administered or (state == "SMINFO_MASTER" and lid > 0)
        hint = "no master subnet manager for {}: check opensm or UFM".format(port.name)
        record.ok(port.id + "subnet_manager", good, expected="SMINFO_MASTER", found=found, severity=Severity.CRITICAL, hint=hint)


def test_management_key(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["infiniband_m_key"]:
        record.not_applicable("infiniband.m_key", "not declared")
        return
    for port in _ports(spec):
        check_management_key(record, probe, port.id + "m_key", port.device, port.number)


def test_sharp(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["infiniband_sharp"]:
        record.not_applicable("infiniband.sharp", "not declared")
        return
    for port in _ports(spec):
        # The direct route through this port ends at the leaf switch; only the links of that switch are queried.
        answer = probe.run(links_argv(port.device, port.number, "0,{}".format(port.number), hops=0))
        try:
            links = parse_iblinkinfo(answer.stdout)
        except UnreadableFabricError as e:
            record.could_not_run(port.id + "sharp", answer.error or str(e))
            continue
        found = any("Aggregation Node" in link.far.name for link in links)
        hint = "SHARP is not active on {}: check sharp_am of the subnet manager".format(links[0].near.host)
        record.equal(port.id + "sharp", "aggregation node", "aggregation node" if found else "none on its leaf", hint=hint)


def test_counters(spec: Spec, record: Record, probe: Probe) -> None:
    limits: Dict[str, int] = dict(spec["infiniband_counter_limits"])
    per_hour = int(spec["infiniband_symbol_errors_per_hour_max"])
    if per_hour:
        limits.setdefault("symbol_error", per_hour)
    if not limits or not spec["infiniband_ports"]:
        record.not_applicable("infiniband.counters", "no limit or no port is declared")
        return
    try:
        snapshot = parse_snapshot(probe.read(SNAPSHOT) or "")
    except UnreadableSnapshotError as e:
        record.could_not_run("infiniband.counters", str(e))
        return
    hourly = per_hour and "symbol_error" not in spec["infiniband_counter_limits"]
    same_boot = snapshot.boot_id == probe.read("/proc/sys/kernel/random/boot_id")
    for port in _ports(spec):
        check = "infiniband.counters[{}]".format(port.name)
        texts = {name: probe.read(port.sysfs + "counters/" + name) or probe.read(port.sysfs + "hw_counters/" + name) for name in limits}
        missing = sorted(name for name, text in texts.items() if not (text or "").isdigit())
        if missing:
            record.could_not_run(check, "no counter {}".format(", ".join(missing)))
            continue
        key = "{}/{}".format(port.device, port.number)
        since = snapshot.time_of(key)
        if hourly:
            limits["symbol_error"] = int(per_hour * _hours_since(probe, since))
        then = snapshot.ports.get(key, {}) if same_boot else {}
        now = {name: int(text or 0) for name, text in texts.items()}
        grown = over(limits, now, then)
        allowed = "growth of at most {}".format(", ".join("{} {}".format(name, limits[name]) for name in sorted(limits)))
        hint = "{} since {}: {}".format(port.name, since, _CABLE)
        record.ok(check, not grown, expected=allowed, found=values_text(limits, now, then), severity=Severity.CRITICAL, hint=hint)


def _hours_since(probe: Probe, taken_at: str) -> float:
    """At least one. Raises ProbeError."""
    now, then = probe.run(["date", "+%s"]), seconds_of(taken_at)
    if now.rc != 0 or not now.stdout.strip().isdigit() or then is None:
        raise ProbeError("the age of the counter snapshot of {} is unknown: {}".format(taken_at, now.error or now.stderr.strip()))
    return max((int(now.stdout) - then) / 3600.0, 1.0)


def test_ip_over_infiniband(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["infiniband_ipoib"]:
        record.not_applicable("infiniband.ipoib", "not declared")
    else:
        interface_owner.judge_files(record, probe, ROLE, takeover=spec["infiniband_ipoib_takeover"])
    for row in spec["infiniband_ipoib"]:
        port = Port(row)
        check = "infiniband.ipoib[{}].".format(port.name)
        name = row.get("interface") or interface_of(probe, port.device, port.number)
        if not name:
            record.ok(check + "interface", False, expected="an interface", found="none", hint="load ib_ipoib (kernel_modules)")
            continue
        if spec["infiniband_ipoib_takeover"]:
            interface_owner.judge_interface(record, probe, check, port.device, name)
        mode = probe.read("/sys/class/net/{}/mode".format(name))
        record.equal(check + "mode.running", row.get("mode") or "datagram", mode or "(not IPoIB)", hint=APPLY)
        record.equal(check + "mtu.running", row.get("mtu") or 4092, rail_routing.mtu(probe, name), hint=APPLY)
        if row.get("address"):
            own, present = str(ip_interface(row["address"])), rail_routing.addresses(probe, name)
            record.equal(check + "address.running", own, own if own in present else ", ".join(present) or "none", hint=APPLY)


def test_persistence(spec: Spec, record: Record, probe: Probe) -> None:
    if not (spec["infiniband_ports"] or spec["infiniband_ipoib"] or spec["infiniband_cabling"]):
        return
    unit = probe.units([UNIT])[UNIT]
    record.equal("infiniband.service.persisted", "enabled", unit.file_state or unit.load_state, hint="apply the role infiniband")
    check_files(record, probe, "/etc/clusterctl/infiniband.sha256", FILES, "apply the role infiniband")
    try:
        written: Dict[str, Any] = json.loads(probe.read(CONFIG) or "{}")
    except ValueError as e:
        raise ProbeError("{}: {}".format(CONFIG, e)) from e
    ports = [{"device": p.device, "port": p.number} for p in _ports(spec)]
    record.equal("infiniband.ports.persisted", ports, written.get("ports"), hint="apply the role infiniband")
    blank = {"port": 1, "interface": "", "mode": "datagram", "mtu": 4092, "address": ""}
    rows = [{**blank, **{k: v for k, v in row.items() if v is not None}} for row in spec["infiniband_ipoib"]]
    record.equal("infiniband.ipoib.persisted", rows, written.get("ipoib"), hint="apply the role infiniband")


def test_cabling(spec: Spec, record: Record, probe: Probe) -> None:
    check_cabling(record, probe, spec["infiniband_cabling"])
