"""Storage clients: every file system is mounted as declared, responds in time, and is mounted at boot with its settings."""

import json
import re
from typing import Any, Dict, List, Mapping, Set

from clusterctl_tools.lctl import get_argv, parse_values
from clusterctl_tools.mount_unit import complete, difference, expected_settings, read_settings
from clusterctl_validators.file_mode import FileMode, read_mode
from clusterctl_validators.finding import Severity
from clusterctl_validators.installed_files import check_files
from clusterctl_validators.mount_options import negotiated_down, wrong_options
from clusterctl_validators.mount_source import same_source
from clusterctl_validators.mount_touch import touch
from clusterctl_validators.pinned_packages import check_package
from clusterctl_validators.probe import Mount, Probe
from clusterctl_validators.record import Record
from clusterctl_validators.sysctl_files import plain, proc_path

ROLE = "storage_client"
LEFT_BY_ROLE = (
    "storage_client.*.persisted",
    "storage_client.*.mode",
    "storage_client.*.enabled",
    "storage_client.mount.present",
    "storage_client.mount.overridden",
)
Spec = Mapping[str, Any]

UNITS = "/etc/systemd/system"
HEADER = "# Written by clusterctl, role storage_client"
SERVICE = "clusterctl-storage-client.service"
SCRIPT = "/usr/local/sbin/clusterctl-storage-client"
SETTINGS = "/etc/clusterctl/storage-client.json"
SUMS = "/etc/clusterctl/storage-client.sha256"
MODPROBE_FILE = "/etc/modprobe.d/zz-clusterctl-storage-client.conf"
# Well below the limit of a whole check, so that a hanging mount gets a finding of its own and the others are still checked.
TOUCH_LIMIT_S = 15
_PROVISION = "run `clusterctl provision NODE`"
_KIB = {"2M": 2048, "1G": 1048576}


def _mounts(spec: Spec) -> List[Dict[str, Any]]:
    return [complete(mount) for mount in spec["storage_client_mounts"]]


def _anything(spec: Spec) -> bool:
    return bool(spec["storage_client_mounts"] or spec["storage_client_tunables"] or spec["storage_client_module_parameters"])


def _severity(mount: Mapping[str, Any]) -> Severity:
    return Severity.CRITICAL if mount["required"] else Severity.MINOR


def _mode(record: Record, probe: Probe, check: str, path: str) -> None:
    mode = read_mode(probe, path)
    found = "{0.owner} {0.mode}".format(mode) if isinstance(mode, FileMode) else None
    record.equal(check, "root 644", found, severity=Severity.MINOR, hint=_PROVISION)


def test_packages(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["storage_client_packages"]:
        record.not_applicable("storage_client.packages", "none are declared")
    for package in spec["storage_client_packages"]:
        check_package(record, probe, package, spec["storage_client_hold"])


def test_mount_units(spec: Spec, record: Record, probe: Probe) -> None:
    mounts = _mounts(spec)
    states = probe.units([mount["unit"] for mount in mounts])
    for mount in mounts:
        at, path = "storage_client.mount[{}].".format(mount["name"]), "{}/{}".format(UNITS, mount["unit"])
        text = probe.read(path)
        record.ok(at + "present", text is not None, expected=path, found=path if text is not None else "absent", hint=_PROVISION)
        if text is None:
            continue
        wrong = difference(expected_settings(mount, SERVICE), read_settings(text))
        record.ok(at + "persisted", not wrong, expected="the declared unit", found=wrong or "the declared unit", hint=_PROVISION)
        _mode(record, probe, at + "mode", path)
        state = states[mount["unit"]]
        record.equal(at + "enabled", "enabled", state.file_state or state.load_state, hint="a reboot would lose the mount: " + _PROVISION)
        drop_ins = probe.glob(path + ".d/*.conf")
        record.equal(at + "overridden", "by no file", ", ".join(drop_ins) or "by no file", hint="a drop-in overrides the unit")


def test_mounts(spec: Spec, record: Record, probe: Probe) -> None:
    """Mounted as declared. Only mounted paths are tested, because an empty mount point would respond too."""
    mounts = _mounts(spec)
    if not mounts:
        record.not_applicable("storage_client.mount", "none is declared")
        return
    # With several mounts on one path the last is visible.
    mounted = {mount.target: mount for mount in probe.mounts()}
    limits_s = {m["path"]: float(min(m["timeout_s"], TOUCH_LIMIT_S)) for m in mounts if m["path"] in mounted}
    answers = touch(probe, limits_s)
    for mount in mounts:
        at, severity = "storage_client.mount[{}].".format(mount["name"]), _severity(mount)
        found = mounted.get(mount["path"])
        record.ok(at + "running", found is not None, expected="mounted", found="mounted" if found else "not mounted", severity=severity)
        if found:
            _running(record, at, mount, found)
            hint = "the server, the network or the client's daemon does not answer: `systemctl status {}`".format(mount["unit"])
            record.equal(at + "touch", "answers", answers[mount["path"]], severity=severity, hint=hint)


def _running(record: Record, at: str, mount: Mapping[str, Any], found: Mount) -> None:
    severity, kind = _severity(mount), mount["kind"]
    # FUSE file systems may omit their name.
    types = [mount["fstype"], "fuse." + mount["fstype"], re.sub(r"^fuse\..*", "fuse", mount["fstype"])] + (
        ["nfs4"] if kind == "nfs" else []
    )
    # mount.fuse.ceph starts ceph-fuse, which shows its own name as type and as source.
    by_fuse = kind == "cephfs" and mount["fstype"] == "fuse.ceph" and found.fstype == "fuse.ceph-fuse"
    types += [found.fstype] if by_fuse else []
    record.ok(at + "fstype", found.fstype in types, expected=mount["fstype"], found=found.fstype, severity=severity, hint=_PROVISION)
    if kind in ("weka", "juicefs") or by_fuse:
        record.not_applicable(at + "source", "{} shows its source in a form of its own".format(kind))
    else:
        same = same_source(kind, mount["source"], found.device)
        record.ok(at + "source", same, expected=mount["source"], found=found.device, severity=severity, hint=_PROVISION)
    wrong = wrong_options(kind, mount["options"], found.options)
    hint = "the running mount has other options than its unit; for nfs, mounts from one server share their connections. " + _PROVISION
    record.equal(at + "options", "as declared", ", ".join(wrong) or "as declared", severity=severity, hint=hint)
    if kind == "nfs":
        less = negotiated_down(mount["options"], found.options)
        words = ", ".join("{}={}".format(k, v) for k, v in less.items())
        record.equal(
            at + "sizes",
            "as declared",
            words or "as declared",
            severity=Severity.MINOR,
            hint="the server granted other sizes; correct the declaration or the server",
        )


def test_stale_units(spec: Spec, record: Record, probe: Probe) -> None:
    declared = {mount["unit"] for mount in _mounts(spec)}
    paths = [path for path in probe.glob(UNITS + "/*.mount") if (probe.read(path) or "").startswith(HEADER)]
    stale = sorted({path.rpartition("/")[2] for path in paths} - declared)
    record.equal(
        "storage_client.stale_units", "none", ", ".join(stale) or "none", hint="no longer declared: `clusterctl provision NODE` unmounts it"
    )


def test_settings(spec: Spec, record: Record, probe: Probe) -> None:
    """The settings file of the script, and that the script runs at boot."""
    text = probe.read(SETTINGS)
    if not _anything(spec):
        left = [path for path in (SETTINGS, SCRIPT, UNITS + "/" + SERVICE) if probe.glob(path)]
        record.equal("storage_client.settings.persisted", "absent", ", ".join(left) or "absent", hint=_PROVISION)
        return
    modules = spec["storage_client_module_parameters"]
    expected = {
        "mounts": _mounts(spec),
        "module_parameters": {m: {k: _parameter(v) for k, v in p.items()} for m, p in modules.items()},
        "tunables": [{k: str(t[k]) for k in ("kind", "name", "value")} for t in spec["storage_client_tunables"]],
    }
    try:
        written = json.loads(text or "{}")
    except ValueError:
        written = {}
    wrong = (
        "absent"
        if text is None
        else ", ".join(key for key in expected if not isinstance(written, dict) or written.get(key) != expected[key])
    )
    record.ok("storage_client.settings.persisted", not wrong, expected="as declared", found=wrong or "as declared", hint=_PROVISION)
    if text is not None:
        _mode(record, probe, "storage_client.settings.mode", SETTINGS)
    check_files(record, probe, SUMS, {SCRIPT: "755", UNITS + "/" + SERVICE: "644"}, _PROVISION)
    state = probe.units([SERVICE])[SERVICE]
    record.equal("storage_client.service.enabled", "enabled", state.file_state or state.load_state, hint=_PROVISION)
    hint = "`journalctl -u {}` shows which setting failed".format(SERVICE)
    record.ok("storage_client.service.running", state.active_state != "failed", expected="not failed", found=state.active_state, hint=hint)


def test_module_parameters(spec: Spec, record: Record, probe: Probe) -> None:
    modules = spec["storage_client_module_parameters"]
    text = probe.read(MODPROBE_FILE)
    if not modules:
        record.equal("storage_client.modprobe.persisted", "absent", "absent" if text is None else "present", hint=_PROVISION)
        return
    declared = {
        "options {} {}".format(m, " ".join("{}={}".format(k, _quoted(v)) for k, v in sorted(p.items()))) for m, p in modules.items()
    }
    lines: Set[str] = {line.strip() for line in (text or "").splitlines() if line.strip() and not line.startswith("#")}
    wrong = "; ".join(sorted(declared ^ lines))
    record.ok(
        "storage_client.modprobe.persisted",
        not wrong,
        expected="; ".join(sorted(declared)),
        found="; ".join(sorted(lines)) or "absent",
        hint=_PROVISION,
    )
    if text is not None:
        _mode(record, probe, "storage_client.modprobe.mode", MODPROBE_FILE)
    for module, parameters in modules.items():
        folder = "/sys/module/{}".format(module.replace("-", "_"))
        for name, value in parameters.items():
            check = "storage_client.module[{}].{}.running".format(module, name)
            if not probe.glob(folder):
                record.not_applicable(check, "the module is not loaded; modprobe.d sets it at load")
                continue
            found = probe.read("{}/parameters/{}".format(folder, name))
            record.equal(check, _parameter(value), found, hint="the module was loaded earlier: " + _PROVISION + ", or reboot the node")


def test_tunables(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["storage_client_tunables"]:
        record.not_applicable("storage_client.tunable", "none is declared")
    for tunable in spec["storage_client_tunables"]:
        kind, name = tunable["kind"], tunable["name"]
        check = "storage_client.tunable[{}:{}].running".format(kind, name)
        hint = "a remount or a reloaded module resets it; `{} apply` sets it".format(SCRIPT)
        if kind == "lctl":
            result = probe.run(get_argv(name))
            if result.error or result.rc != 0:
                record.could_not_run(check, result.error or "lctl: " + (result.stderr.strip() or "exit status {}".format(result.rc)))
                continue
            found = ", ".join(sorted(parse_values(name, result.stdout))) or "nothing"
        else:
            path = proc_path(name) if kind == "sysctl" else _read_ahead_file(probe, name)
            text = probe.read(path) if path else None
            found = "absent" if text is None else plain(text)
        record.equal(check, plain(tunable["value"]), found, hint=hint)


def _read_ahead_file(probe: Probe, path: str) -> str:
    """The file of the mount's own cache settings, found without access to the mount; empty if it is not mounted."""
    rows = [line.split() for line in (probe.read("/proc/self/mountinfo") or "").splitlines()]
    devices = [row[2] for row in rows if row[4] == path]
    return "/sys/class/bdi/{}/read_ahead_kb".format(devices[-1]) if devices else ""


def test_hugepages(spec: Spec, record: Record, probe: Probe) -> None:
    """At least as many pages as the clients need; the role hugepages checks the exact number."""
    if not spec["storage_client_hugepages"]:
        record.not_applicable("storage_client.hugepages", "none are needed")
    for page in spec["storage_client_hugepages"]:
        check = "storage_client.hugepages[{0[size]}].node{0[node]}.running".format(page)
        path = "/sys/devices/system/node/node{}/hugepages/hugepages-{}kB/nr_hugepages".format(page["node"], _KIB[page["size"]])
        found = probe.read(path)
        enough = found is not None and found.isdigit() and int(found) >= int(page["count"])
        record.ok(
            check, enough, expected="{} or more".format(page["count"]), found=found or "absent", hint="declare them in hugepages_pages"
        )


def _parameter(value: Any) -> str:
    return ("Y" if value else "N") if isinstance(value, bool) else str(value)


def _quoted(value: Any) -> str:
    text = _parameter(value)
    return '"{}"'.format(text) if " " in text else text
