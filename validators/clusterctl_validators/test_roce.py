"""RoCE per rail: the settings in force on every adapter, the files that restore them, and the cabling."""

import ipaddress
import json
import re
from typing import Any, Dict, List, Mapping, Optional

from clusterctl_tools import ethtool, ibv_devinfo, mlnx_qos, mlnx_tools
from clusterctl_validators import interface_owner, rail_routing, roce_gids
from clusterctl_validators.cabling import check_cabling
from clusterctl_validators.finding import Severity
from clusterctl_validators.installed_files import check_files
from clusterctl_validators.pinned_packages import check_present
from clusterctl_validators.probe import Probe, ProbeError
from clusterctl_validators.rail_interface import interface_of
from clusterctl_validators.rdma_sysfs import read_port
from clusterctl_validators.record import Record

ROLE = "roce"
LEFT_BY_ROLE = ("roce.*.persisted", "roce.takeover.files")
AFTER_BOOT = ("roce.rails.link",)
# cma_roce_tos and cma_roce_mode create a folder there to read the values in force.
WRITABLE = ("/sys/kernel/config",)
Spec = Mapping[str, Any]
CONFIG = "/etc/clusterctl/roce.json"
UNIT = "clusterctl-roce.service"
_NETWORKD = "systemd-networkd.service"
APPLY = "run `systemctl start {}`, or apply the role roce".format(UNIT)
FILES = {
    "/usr/local/sbin/clusterctl-roce": "755",
    "/etc/systemd/system/" + UNIT: "644",
    "/etc/udev/rules.d/90-clusterctl-roce.rules": "644",
    "/etc/networkd-dispatcher/carrier.d/50-clusterctl-roce": "755",
    "/etc/networkd-dispatcher/routable.d/50-clusterctl-roce": "755",
    "/etc/NetworkManager/dispatcher.d/50-clusterctl-roce": "755",
    "/etc/systemd/networkd.conf.d/50-clusterctl-roce.conf": "644",
}
# Keys of the configuration file of the script, by variable.
_WRITTEN = {
    "roce_dcbx": "dcbx",
    "roce_trust": "trust",
    "roce_dscp": "dscp",
    "roce_priority": "priority",
    "roce_dscp_to_priority": "dscp_to_priority",
    "roce_pfc_priorities": "pfc_priorities",
    "roce_ecn_priorities": "ecn_priorities",
    "roce_cnp_dscp": "cnp_dscp",
    "roce_cnp_priority": "cnp_priority",
    "roce_np_parameters": "np_parameters",
    "roce_rp_parameters": "rp_parameters",
    "roce_traffic_class": "traffic_class",
    "roce_cma_tos": "cma_tos",
    "roce_version": "version",
    "roce_mtu": "mtu",
    "roce_ring_rx": "ring_rx",
    "roce_ring_tx": "ring_tx",
    "roce_global_pause": "global_pause",
    "roce_buffer_size_bytes": "buffer_size_bytes",
    "roce_priority_to_buffer": "priority_to_buffer",
    "roce_arp_ignore": "arp_ignore",
    "roce_arp_announce": "arp_announce",
    "roce_rp_filter": "rp_filter",
    "roce_table_base": "table_base",
    "roce_rule_priority_base": "rule_priority_base",
}


class Rail:
    """A declared rail on this node. `id` is the prefix of its checks."""

    def __init__(self, declared: Mapping[str, Any], probe: Probe) -> None:
        self.device = str(declared["device"])
        self.rail = int(declared["rail"])
        self.port = int(declared.get("port") or 1)
        self.address = str(declared.get("address") or "")
        self.gateway = str(declared.get("gateway") or "")
        self.interface = str(declared.get("interface") or interface_of(probe, self.device, self.port))
        self.id = "roce.rails[{}].".format(self.device)


def _rails(spec: Spec, probe: Probe) -> List[Rail]:
    """The rails that have an interface; test_link reports the others."""
    return [rail for rail in (Rail(r, probe) for r in spec["roce_rails"]) if rail.interface]


def test_packages(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["roce_rails"]:
        return
    check_present(record, probe, spec["roce_packages"])
    if probe.units([_NETWORKD])[_NETWORKD].file_state == "enabled":
        check_present(record, probe, spec["roce_networkd_packages"])


def test_link(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["roce_rails"]:
        record.not_applicable("roce.rails", "no rail is declared")
    for rail in (Rail(r, probe) for r in spec["roce_rails"]):
        port = read_port(probe, rail.device, rail.port)
        expected = "Ethernet, ACTIVE, with an interface"
        found = "absent"
        if port:
            found = "{}, {}, {}".format(port.link_layer, port.state, "with an interface" if rail.interface else "without an interface")
        hint = "LINK_TYPE_P1=2 (mlxconfig) makes the port Ethernet; then check the cable and switch port of rail {}".format(rail.rail)
        record.equal(rail.id + "link", expected, found, severity=Severity.CRITICAL, hint=hint)


def test_interface(spec: Spec, record: Record, probe: Probe) -> None:
    for rail in _rails(spec, probe):
        record.equal(rail.id + "mtu.running", spec["roce_mtu"], rail_routing.mtu(probe, rail.interface), hint=APPLY)
        info = probe.run(ibv_devinfo.port_argv(rail.device, rail.port))
        active = ibv_devinfo.parse_active_mtu(info.stdout)
        if info.error or not active:
            record.could_not_run(rail.id + "active_mtu", info.error or "ibv_devinfo shows no active_mtu")
        else:
            hint = "the MTU of the interface must be {} or more".format(int(spec["roce_active_mtu"]) + 96)
            record.equal(rail.id + "active_mtu", spec["roce_active_mtu"], active, hint=hint)
        _ethtool(spec, record, probe, rail)


def _ethtool(spec: Spec, record: Record, probe: Probe, rail: Rail) -> None:
    rings = ethtool.current_rings(probe.run(ethtool.rings_argv(rail.interface)).stdout)
    for way, size in (("rx", spec["roce_ring_rx"]), ("tx", spec["roce_ring_tx"])):
        if size:
            _read(record, rail.id + "ring_{}.running".format(way), size, rings.get(way), "ethtool -g")
    pause = ethtool.pause(probe.run(ethtool.pause_argv(rail.interface)).stdout)
    for way in ("rx", "tx"):
        expected = "on" if spec["roce_global_pause"] else "off"
        _read(record, rail.id + "pause_{}.running".format(way), expected, pause.get(way), "ethtool -a")


def _read(record: Record, check: str, expected: Any, found: Optional[str], source: str) -> None:
    if found is None:
        record.could_not_run(check, "{} does not show it".format(source))
    else:
        record.equal(check, expected, found, hint=APPLY)


def test_quality_of_service(spec: Spec, record: Record, probe: Probe) -> None:
    for rail in _rails(spec, probe):
        result = probe.run(mlnx_qos.show_argv(rail.interface))
        try:
            qos = mlnx_qos.parse(result.stdout)
        except mlnx_qos.UnreadableQosError as e:
            record.could_not_run(rail.id + "qos", result.error or str(e))
            continue
        if spec["roce_dcbx"]:
            record.equal(rail.id + "dcbx.running", spec["roce_dcbx"], qos.dcbx, hint=APPLY)
        if not spec["roce_trust"]:
            record.not_applicable(rail.id + "trust", "not managed")
            continue
        record.equal(rail.id + "trust.running", spec["roce_trust"], qos.trust, hint=APPLY)
        record.equal(rail.id + "pfc_priorities.running", _numbers(spec["roce_pfc_priorities"]), _numbers(qos.pfc), hint=APPLY)
        if spec["roce_trust"] == "dscp":
            for what, dscp, priority in (
                ("priority", spec["roce_dscp"], spec["roce_priority"]),
                ("cnp_map", spec["roce_cnp_dscp"], spec["roce_cnp_priority"]),
            ):
                record.equal(rail.id + what + ".running", priority, qos.priority_of.get(int(dscp)), hint=APPLY)
            for dscp, priority in spec["roce_dscp_to_priority"].items():
                check = "{}dscp_to_priority[{}].running".format(rail.id, dscp)
                record.equal(check, priority, qos.priority_of.get(int(dscp)), hint=APPLY)
        for name, declared, found in (
            ("buffer_size_bytes", spec["roce_buffer_size_bytes"], qos.buffer_sizes),
            ("priority_to_buffer", spec["roce_priority_to_buffer"], qos.buffer_of),
        ):
            if declared:
                _read(record, rail.id + name + ".running", list(map(int, declared)), json.dumps(list(found)) if found else None, "mlnx_qos")


def test_congestion_control(spec: Spec, record: Record, probe: Probe) -> None:
    for rail in _rails(spec, probe):
        ecn = "/sys/class/net/{}/ecn/".format(rail.interface)
        for point in ("roce_np", "roce_rp"):
            enabled = {p: probe.read("{}{}/enable/{}".format(ecn, point, p)) for p in range(8)}
            on = [p for p, value in enabled.items() if value == "1"]
            found = None if None in enabled.values() else _numbers(on)
            _read(record, "{}ecn.{}.running".format(rail.id, point), _numbers(spec["roce_ecn_priorities"]), found, ecn + point)
        files = {
            "cnp_dscp": ("roce_np/cnp_dscp", spec["roce_cnp_dscp"]),
            "cnp_priority": ("roce_np/cnp_802p_prio", spec["roce_cnp_priority"]),
        }
        files.update({"np_parameters." + n: ("roce_np/" + n, v) for n, v in spec["roce_np_parameters"].items()})
        files.update({"rp_parameters." + n: ("roce_rp/" + n, v) for n, v in spec["roce_rp_parameters"].items()})
        for name, (file, value) in files.items():
            _read(record, rail.id + name + ".running", value, probe.read(ecn + file), ecn + file)


def test_marks(spec: Spec, record: Record, probe: Probe) -> None:
    for rail in _rails(spec, probe):
        path = "/sys/class/infiniband/{}/tc/{}/traffic_class".format(rail.device, rail.port)
        text = probe.read(path)
        found = re.search(r"^(?:Global tclass=)?(\d+)", text or "", re.MULTILINE)
        shown = None if text is None else found.group(1) if found else "none"
        _read(record, rail.id + "traffic_class.running", spec["roce_traffic_class"], shown, path)
        tos = mlnx_tools.parse_tos(probe.run(mlnx_tools.tos_argv(rail.device, rail.port)).stdout)
        _read(record, rail.id + "cma_tos.running", spec["roce_cma_tos"], tos, "cma_roce_tos")
        mode = mlnx_tools.parse_mode(probe.run(mlnx_tools.mode_argv(rail.device, rail.port)).stdout)
        _read(record, rail.id + "version.running", spec["roce_version"], mode, "cma_roce_mode")


def test_gid(spec: Spec, record: Record, probe: Probe) -> None:
    index = int(spec["roce_gid_index"])
    for rail in _rails(spec, probe):
        own = str(ipaddress.ip_interface(rail.address).ip) if rail.address else ""
        gids = roce_gids.routable(roce_gids.read_gids(probe, rail.device, rail.port))
        matching = [g for g in gids if own in ("", g.address)]
        # Any entry of the right address will do, unless other settings refer to an index.
        chosen = next((g for g in matching if index in (-1, g.index)), None)
        expected = "RoCE v2 of {} at {}".format(own or "any address", "any index" if index < 0 else "index {}".format(index))
        found = ", ".join("index {}: {}".format(g.index, g.address) for g in gids) or "none"
        hint = "the rail's address creates the GID; if its index differs between nodes, leave NCCL_IB_GID_INDEX out; over IPv6 set NCCL_IB_ADDR_FAMILY=AF_INET6"
        record.ok(rail.id + "gid", chosen is not None, expected=expected, found=found, severity=Severity.CRITICAL, hint=hint)


def test_addresses_and_routes(spec: Spec, record: Record, probe: Probe) -> None:
    for rail in _rails(spec, probe):
        for name, value in (
            ("arp_ignore", spec["roce_arp_ignore"]),
            ("arp_announce", spec["roce_arp_announce"]),
            ("rp_filter", spec["roce_rp_filter"]),
        ):
            if int(value) >= 0:
                path = "/proc/sys/net/ipv4/conf/{}/{}".format(rail.interface, name)
                _read(record, rail.id + name + ".running", value, probe.read(path), path)
        if not rail.address:
            record.not_applicable(rail.id + "address", "addresses are not managed")
            continue
        own = ipaddress.ip_interface(rail.address)
        present = rail_routing.addresses(probe, rail.interface)
        found = str(own) if str(own) in present else ", ".join(present) or "none"
        record.equal(rail.id + "address.running", str(own), found, hint=APPLY)
        refused = rail_routing.refused_networks(probe, own.version, own.network)
        if refused:
            hint = "no role sets it, and peers of this rail are not reached: `ip route del` it, and find what sets it at boot"
            record.warn(rail.id + "refused_networks", expected="none", found=refused, hint=hint)
        if int(spec["roce_table_base"]):
            table = str(int(spec["roce_table_base"]) + rail.rail)
            priority = int(spec["roce_rule_priority_base"]) + rail.rail
            expected = "from {} lookup {}".format(own.ip, table)
            record.equal(rail.id + "rule.running", expected, rail_routing.rules(probe, own.version, priority), hint=APPLY)
            routes = rail_routing.expected_routes(own, rail.interface, rail.gateway)
            record.equal(rail.id + "routes.running", routes, rail_routing.routes(probe, own.version, table), hint=APPLY)


def test_owner(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["roce_rails"]:
        return
    interface_owner.judge_files(record, probe, ROLE, takeover=spec["roce_rails_takeover"])
    for rail in _rails(spec, probe) if spec["roce_rails_takeover"] else []:
        interface_owner.judge_interface(record, probe, rail.id, rail.device, rail.interface)


def test_persistence(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["roce_rails"]:
        return
    unit = probe.units([UNIT])[UNIT]
    record.equal("roce.service.persisted", "enabled", unit.file_state or unit.load_state, hint="apply the role roce")
    check_files(record, probe, "/etc/clusterctl/roce.sha256", FILES, "apply the role roce")
    try:
        written: Dict[str, Any] = json.loads(probe.read(CONFIG) or "{}")
    except ValueError as e:
        raise ProbeError("{}: {}".format(CONFIG, e)) from e
    for variable, name in _WRITTEN.items():
        record.equal("roce.{}.persisted".format(name), spec[variable], written.get(name), hint="apply the role roce")
    fields = ("device", "rail", "port", "interface", "address", "gateway")
    rails = [{f: r.get(f) if r.get(f) is not None else {"port": 1}.get(f, "") for f in fields} for r in spec["roce_rails"]]
    record.equal("roce.rails.persisted", rails, written.get("rails"), hint="apply the role roce")


def test_cabling(spec: Spec, record: Record, probe: Probe) -> None:
    check_cabling(record, probe, spec["roce_cabling"])


def _numbers(values: Any) -> str:
    return ", ".join(str(v) for v in sorted(int(v) for v in values)) or "none"
