"""The NVLink domain of a rack: the fabric as the GPUs of this tray see it, and IMEX between the trays, now and after a boot."""

from typing import Any, Mapping, Optional, Tuple

from clusterctl_tools import nvidia_module
from clusterctl_tools.gpu import Gpu, UnreadableGpuError
from clusterctl_tools.systemctl import Unit
from clusterctl_validators import imex, imex_tls, modprobe_files
from clusterctl_validators.file_mode import FileMode, read_mode
from clusterctl_validators.finding import Severity
from clusterctl_validators.gpu_links import judge_fabric_state
from clusterctl_validators.imex import Domain, UnreadableImexError
from clusterctl_validators.nvidia import NvidiaReader
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

ROLE = "nvlink_domain"
LEFT_BY_ROLE = ("nvlink_domain.*.persisted", "nvlink_domain.*.mode")
SCOPE = "rack"
RACK = {
    "same": ("cluster_uuid", "clique_id"),
    "by": "nvlink_domain",
    "size": "nvlink_domain_trays",
    "least": "nvlink_domain_ready_min",
    "hint": "the trays of the rack disagree: check the partitions in NMX and the cables of the differing tray",
    # Each GPU has a link to each NVSwitch of the rack: what a switch tray lacks, all compute trays lack alike.
    "alike": ("hardware.gpu.nvlinks", "hardware.gpu.nvlink_*", "hardware.gpu.fabric*", "nvlink_domain.gpu.fabric.*"),
    "above": "switch_trays",
    "above_hint": "check in NMX the NVLink switch trays that these links lead to, their power and their side of the NVLink cartridges, and NMX itself; "
    "no compute tray is at fault, unless the declared number or rate of links is wrong. Then run `clusterctl validate` on the whole rack",
}
ABOUT_OTHERS = ("nvlink_domain.imex.complete", "nvlink_domain.rack.switch_trays")
AFTER_BOOT = (
    "nvlink_domain.gpu.fabric.*",
    "nvlink_domain.cluster_uuid",
    "nvlink_domain.clique_id",
    "nvlink_domain.imex.service.running",
    "nvlink_domain.imex.daemon",
    "nvlink_domain.imex.members_ready",
    "nvlink_domain.imex.connections",
    "nvlink_domain.rack.*",
)
Spec = Mapping[str, Any]
# As in test_hardware: nvidia-smi takes its time.
LIMIT_S = 70

NODES_FILE = "/etc/nvidia-imex/nodes_config.cfg"
CONFIG_FILE = "/etc/nvidia-imex/config.cfg"
UNIT = "nvidia-imex.service"
CHANNEL0 = "/dev/nvidia-caps-imex-channels/channel0"
STATUS = ["nvidia-imex-ctl", "-q"]
DOMAIN = ["nvidia-imex-ctl", "-N", "-j"]
ADDRESSES = ["hostname", "-I"]
NO_DOMAIN = "00000000-0000-0000-0000-000000000000"
# Defaults of the module (kernel-open/nvidia/nv-reg.h).
_MODULE_DEFAULTS = {"NVreg_ImexChannelCount": "2048", "NVreg_CreateImexChannel0": "0"}
_PROVISION = "run `clusterctl provision NODE`"
_SWITCHES = "the NVLink switch trays and their fabric manager (NMX) must be up first; then restart the compute tray"
_PER_JOB = "the scheduler starts IMEX for each job"


def _gpus(probe: Probe, record: Record, check: str) -> Tuple[Gpu, ...]:
    """The GPUs of this tray; none, with a finding, if nvidia-smi fails."""
    try:
        gpus = NvidiaReader(probe).query().gpus
    except UnreadableGpuError as e:
        record.could_not_run(check, str(e), Severity.CRITICAL)
        return ()
    if not gpus:
        record.could_not_run(check, "nvidia-smi lists no GPU", Severity.CRITICAL)
    return gpus


def test_gpus(spec: Spec, record: Record, probe: Probe) -> None:
    gpus = _gpus(probe, record, "nvlink_domain.gpus")
    if gpus:
        record.equal("nvlink_domain.gpus", spec["nvlink_domain_gpus"], len(gpus), severity=Severity.CRITICAL, hint="a GPU is missing")


def test_fabric(record: Record, probe: Probe) -> None:
    for gpu in _gpus(probe, record, "nvlink_domain.fabric"):
        at = "nvlink_domain.gpu[{}].fabric.".format(gpu.index)
        judge_fabric_state(record, at + "state", gpu, _SWITCHES)
        if gpu.fabric_health is None:
            down = gpu.fabric_state != "Completed"
            why = "the fabric reports no health before it is up" if down else "this driver does not report it (R570 and later do)"
            record.could_not_run(at + "health", why, Severity.CRITICAL)
            continue
        hint = "nvidia-smi -q, Fabric, Health shows the cause: bandwidth, routes or access; check the switch trays before the GPU"
        record.equal(at + "health", "Healthy", gpu.fabric_health, severity=Severity.CRITICAL, hint=hint)


def test_identity(spec: Spec, record: Record, probe: Probe) -> None:
    """One cluster UUID and one clique for all GPUs of the tray; the controller compares the findings of all trays."""
    gpus = _gpus(probe, record, "nvlink_domain.cluster_uuid")
    if not gpus:
        return
    declared = spec["nvlink_domain_cluster_uuid"].lower()
    clusters = _distinct(g.fabric_cluster for g in gpus)
    good = clusters == declared if declared else clusters not in (NO_DOMAIN, "N/A") and "," not in clusters
    expected = declared or "one, not zero"
    record.ok("nvlink_domain.cluster_uuid", good, expected=expected, found=clusters, severity=Severity.CRITICAL, hint=_SWITCHES)
    clique, cliques = spec["nvlink_domain_clique_id"], _distinct(g.fabric_clique for g in gpus)
    good = cliques == clique if clique else cliques != "N/A" and "," not in cliques
    hint = "the GPUs are in another NVLink partition than the rack; check the partitions in NMX"
    record.ok("nvlink_domain.clique_id", good, expected=clique or "one", found=cliques, severity=Severity.CRITICAL, hint=hint)


def _distinct(values: Any) -> str:
    return ", ".join(sorted({(v or "N/A").lower() if v else "N/A" for v in values}))


def test_files(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["nvlink_domain_imex"]:
        record.not_applicable("nvlink_domain.imex.files", _PER_JOB)
        return
    members = [str(m) for m in spec["nvlink_domain_members"]]
    text = _file(record, probe, "nvlink_domain.imex.nodes", NODES_FILE)
    found = imex.parse_nodes(text or "")
    good = bool(members) and found == members
    expected = ", ".join(members) or "the addresses of {} trays (nvlink_domain_members is empty)".format(spec["nvlink_domain_trays"])
    record.ok("nvlink_domain.imex.nodes.persisted", good, expected=expected, found=", ".join(found) or "none", hint=_PROVISION)
    written = imex.parse_config(_file(record, probe, "nvlink_domain.imex.config", CONFIG_FILE) or "")
    declared = {str(k): str(v) for k, v in spec["nvlink_domain_imex_settings"].items()}
    declared["IMEX_NODE_CONFIG_FILE"] = NODES_FILE
    tls = spec["nvlink_domain_imex_tls"]
    declared.update(imex_tls.settings(tls["target_name"]) if tls else {})
    for name, value in declared.items():
        record.equal("nvlink_domain.imex.setting[{}].persisted".format(name), value, written.get(name, "absent"), hint=_PROVISION)
    others = ", ".join(sorted(set(written) - set(declared)))
    record.equal("nvlink_domain.imex.other_settings.persisted", "none", others or "none", hint=_PROVISION)


def test_encryption(spec: Spec, record: Record, probe: Probe) -> None:
    if spec["nvlink_domain_imex"] and spec["nvlink_domain_imex_tls"]:
        imex_tls.check(record, probe)
        return
    found = "present" if probe.glob(imex_tls.FOLDER + "/*") else "absent"
    record.equal("nvlink_domain.imex.tls.persisted", "absent", found, hint=_PROVISION)


def _file(record: Record, probe: Probe, check: str, path: str) -> Optional[str]:
    text = probe.read(path)
    if text is None:
        return None
    mode = read_mode(probe, path)
    words = "{0.owner} {0.mode}".format(mode) if isinstance(mode, FileMode) else None
    record.equal(check + ".mode", "root 644", words, severity=Severity.MINOR, hint=_PROVISION)
    return text


def test_service(spec: Spec, record: Record, probe: Probe) -> None:
    unit = probe.units([UNIT])[UNIT]
    if not spec["nvlink_domain_imex"]:
        _off(record, probe, unit)
        return
    hint = "systemctl status {0}; journalctl -b -u {0}; /var/log/nvidia-imex.log; its version must equal the driver's".format(UNIT)
    record.equal("nvlink_domain.imex.service.running", "active", unit.active_state, severity=Severity.CRITICAL, hint=hint)
    record.equal("nvlink_domain.imex.service.persisted", "enabled", unit.file_state or unit.load_state, hint="systemctl enable " + UNIT)
    status = probe.run(STATUS)
    output = (status.stdout.strip() or status.stderr.strip()).splitlines()
    if status.error or not output:
        record.could_not_run("nvlink_domain.imex.daemon", status.error or "nvidia-imex-ctl -q printed nothing", Severity.CRITICAL)
        return
    record.equal("nvlink_domain.imex.daemon", "READY", output[-1].strip(), severity=Severity.CRITICAL, hint=hint)


def _off(record: Record, probe: Probe, unit: Unit) -> None:
    """The scheduler starts IMEX: it must not start at boot, nor run between jobs."""
    file_state = unit.file_state or unit.load_state
    at_boot = file_state in ("enabled", "enabled-runtime")
    record.ok("nvlink_domain.imex.service.persisted", not at_boot, expected="not enabled", found=file_state, hint=_PROVISION)
    check, runs = "nvlink_domain.imex.service.running", unit.active_state in ("active", "activating", "reloading")
    gpus = _gpus(probe, record, check) if runs else ()
    if runs and not gpus:
        return
    if any(g.compute_processes for g in gpus):
        record.not_applicable(check, "a process uses the GPUs; " + _PER_JOB)
        return
    hint = "no process uses the GPUs: the last job's epilog did not stop it, or it was started manually; systemctl stop " + UNIT
    record.ok(check, not runs, expected="not running", found=unit.active_state, hint=hint)


def test_domain(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["nvlink_domain_imex"]:
        record.not_applicable("nvlink_domain.imex.domain", _PER_JOB)
        return
    result = probe.run(DOMAIN, timeout_s=60)
    try:
        domain = imex.parse_domain(result.stdout)
    except UnreadableImexError as e:
        record.could_not_run("nvlink_domain.imex.domain", result.error or str(e), Severity.CRITICAL)
        return
    members, running = sorted(str(m) for m in spec["nvlink_domain_members"]), sorted(m.address for m in domain.members)
    hint = "the service runs with a nodes file other than the declared one; `clusterctl provision NODE` restarts it"
    record.equal("nvlink_domain.imex.nodes.running", ", ".join(members), ", ".join(running), severity=Severity.CRITICAL, hint=hint)
    _ready(spec, record, domain)
    _complete(spec, record, domain)
    _connected(record, probe, domain)


def _ready(spec: Spec, record: Record, domain: Domain) -> None:
    least, ready = spec["nvlink_domain_ready_min"], domain.ready()
    missing = ", ".join("{} {}".format(m.address, m.status) for m in domain.members if m.status != "READY")
    found = "{} ({}{})".format(len(ready), domain.status, "; " + missing if missing else "")
    hint = "too few trays for this rack to serve: check the listed members; a site may accept fewer (nvlink_domain_ready_min)"
    record.ok(
        "nvlink_domain.imex.members_ready",
        len(ready) >= least,
        expected=">= {}".format(least),
        found=found,
        severity=Severity.CRITICAL,
        hint=hint,
    )


def _complete(spec: Spec, record: Record, domain: Domain) -> None:
    """The rack is degraded if any tray is missing. Minor: the trays that are ready serve, as far as `nvlink_domain_ready_min` allows."""
    trays, ready = spec["nvlink_domain_trays"], len(domain.ready())
    missing = ", ".join("{} {}".format(m.address, m.status) for m in domain.members if m.status != "READY")
    found = "{} of {}, {}{}".format(ready, trays, domain.status, ": " + missing if missing else "")
    hint = "the rack is degraded, this tray is not: repair the named trays, which have findings of their own"
    expected = "{0} of {0} trays ready".format(trays)
    record.ok("nvlink_domain.imex.complete", ready >= trays, expected=expected, found=found, severity=Severity.MINOR, hint=hint)


def _connected(record: Record, probe: Probe, domain: Domain) -> None:
    """Connections from this tray to every ready member; a member that is down is not a fault of this node."""
    addresses = probe.run(ADDRESSES)
    try:
        own = imex.own_member(domain, addresses.stdout.split())
    except UnreadableImexError as e:
        record.could_not_run("nvlink_domain.imex.connections", addresses.error or str(e), Severity.CRITICAL)
        return
    states = {address: own.connections.get(address, "not listed") for address in domain.ready()}
    bad = ", ".join("{} {}".format(a, s) for a, s in states.items() if s != "CONNECTED")
    hint = "check TCP from this tray to the IMEX port of the member (SERVER_PORT), and that both have the same version"
    ok = bool(states) and not bad
    found = bad or "connected to {}".format(len(states))
    record.ok(
        "nvlink_domain.imex.connections", ok, expected="connected to every ready member", found=found, severity=Severity.CRITICAL, hint=hint
    )


def test_channels(spec: Spec, record: Record, probe: Probe) -> None:
    declared = {
        "NVreg_ImexChannelCount": str(spec["nvlink_domain_imex_channels"]),
        "NVreg_CreateImexChannel0": str(int(spec["nvlink_domain_imex_channel0"])),
    }
    params = probe.read("/proc/driver/nvidia/params")
    running = None if params is None else nvidia_module.parse_parameters(params)
    written = nvidia_module.parse_options(modprobe_files.read_all(probe))
    for name, value in declared.items():
        at = "nvlink_domain.parameter[{}].".format(name)
        record.equal(at + "persisted", value, written.get(name, _MODULE_DEFAULTS[name]), hint=_PROVISION)
        if running is None:
            record.could_not_run(at + "running", "no NVIDIA module is loaded", Severity.CRITICAL)
            continue
        found = running.get(name.replace("NVreg_", ""), "not listed")
        record.equal(at + "running", value, found, hint="reboot: parameters are read when the module loads")
    if not spec["nvlink_domain_imex_channel0"]:
        record.not_applicable("nvlink_domain.channel0", "channels are created for each job")
        return
    found = "present" if probe.glob(CHANNEL0) else "absent"
    hint = "the driver creates it when it loads (NVreg_CreateImexChannel0); reboot"
    record.equal("nvlink_domain.channel0", "present", found, severity=Severity.CRITICAL, hint=hint)
