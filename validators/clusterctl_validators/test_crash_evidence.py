"""A panic and a memory error leave evidence: the crash kernel is loaded, the services record, and nothing lies unexamined."""

import datetime as dt
from typing import Any, List, Mapping

from clusterctl_tools.systemctl import parse_properties, show_argv
from clusterctl_validators.boot_menu import boot_entries
from clusterctl_validators.pinned_packages import check_package
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

ROLE = "crash_evidence"
LEFT_BY_ROLE = ("crash_evidence.*.persisted",)
Spec = Mapping[str, Any]

RESERVED = "/sys/kernel/kexec_crash_size"
LOADED = "/sys/kernel/kexec_crash_loaded"
FORBIDDEN = "/proc/sys/kernel/kexec_load_disabled"
DEBIAN, RHEL = "/etc/default/kdump-tools", "/etc/kdump.conf"
PSTORE = ("/sys/fs/pstore/*", "/var/lib/systemd/pstore/*")
DATABASE = "/var/lib/rasdaemon/ras-mc_event.db"
# rasdaemon, ras-mc-handler.c. Deferred: uncorrectable, not consumed yet (include/linux/edac.h); before 0.8.3 these are Fatal, and what is fatal is Info.
_QUERY = (
    "import sqlite3, sys; c = sqlite3.connect('file:' + sys.argv[1] + '?mode=ro', uri=True); "
    "print(*('%s %s: %s' % row for row in c.execute(\"select err_type, label, sum(err_count) from mc_event "
    "where err_type in ('Uncorrected', 'Deferred', 'Fatal') and timestamp >= ? group by err_type, label\", (sys.argv[2],))), sep='\\n')"
)
_APPLY = "apply the role crash_evidence"
_NOT_ENABLED = "not declared as enabled"


def test_packages(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["crash_evidence_packages"]:
        record.not_applicable("crash_evidence.packages", "none are declared")
    for package in spec["crash_evidence_packages"]:
        check_package(record, probe, package, spec["crash_evidence_hold"])


def test_command_line(spec: Spec, record: Record, probe: Probe) -> None:
    declared = spec["crash_evidence_crashkernel"]
    if not declared:
        record.not_applicable("crash_evidence.crashkernel", "not declared")
        return
    running = _crashkernel(probe.read("/proc/cmdline") or "")
    record.equal("crash_evidence.crashkernel.running", declared, running, hint="reboot the node")
    persisted = [_crashkernel(entry.args) for entry in boot_entries(probe)]
    worst = next((value for value in persisted if value != declared), declared)
    record.equal("crash_evidence.crashkernel.persisted", declared, worst, hint=_APPLY)


def test_kdump(spec: Spec, record: Record, probe: Probe) -> None:
    """After a panic the crash kernel starts from reserved memory, and has a place for the dump."""
    rhel = probe.read(RHEL) is not None
    _service(record, probe, "kdump", "kdump.service" if rhel else "kdump-tools.service", spec["crash_evidence_kdump"])
    if spec["crash_evidence_kdump"] != "enabled":
        return
    reserved = (probe.read(RESERVED) or "absent").strip()
    record.ok(
        "crash_evidence.kdump.reserved",
        reserved.isdigit() and int(reserved) > 0,
        expected="more than 0 bytes",
        found=reserved,
        hint="reboot with crashkernel= on the command line; if it is there, `dmesg | grep -i crashkernel` has the reason",
    )
    unit = "kdump" if rhel else "kdump-tools"
    hint = "systemctl restart {0}; journalctl -b -u {0}".format(unit)
    if probe.read(FORBIDDEN) == "1":
        hint = "kernel.kexec_load_disabled is 1, until the next boot: take it out of /etc/sysctl.d and reboot, or declare kdump disabled"
    record.equal("crash_evidence.kdump.loaded", "1", (probe.read(LOADED) or "absent").strip(), hint=hint)
    text = probe.read(RHEL if rhel else DEBIAN) or ""
    settings = _kdump_conf(text) if rhel else _settings(text)
    folder = settings.get("path", "/var/crash") if rhel else settings.get("KDUMP_COREDIR", "(default)")
    record.equal("crash_evidence.kdump.dump_dir", spec["crash_evidence_dump_dir"], folder, hint=_APPLY)
    if rhel:
        record.not_applicable("crash_evidence.kdump.dumps_max", "kdump of the RHEL family has no limit")
        return
    record.equal("crash_evidence.kdump.dumps_max", spec["crash_evidence_dumps_max"], settings.get("KDUMP_NUM_DUMPS", "0"), hint=_APPLY)
    record.equal("crash_evidence.kdump.in_use", "1", settings.get("USE_KDUMP", "0"), hint=_APPLY)


def test_dumps(spec: Spec, record: Record, probe: Probe) -> None:
    """No dump of a panic that nobody has examined."""
    if spec["crash_evidence_kdump"] != "enabled":
        record.not_applicable("crash_evidence.dumps", _NOT_ENABLED)
        return
    folder = spec["crash_evidence_dump_dir"]
    files = [path for name in ("vmcore*", "dump*", "dmesg*") for path in probe.glob("{}/*/{}".format(folder, name))]
    found = sorted({path.rpartition("/")[0] for path in files})
    hint = "the kernel panicked: read the dmesg or vmcore file there, then move the folder to {}/examined or delete it".format(folder)
    record.ok("crash_evidence.dumps", not found, expected="none", found=", ".join(found) or "none", hint=hint)


def test_pstore(spec: Spec, record: Record, probe: Probe) -> None:
    """The messages of a panic are saved at boot, and none lie unexamined."""
    declared = spec["crash_evidence_pstore"]
    _service(record, probe, "pstore", "systemd-pstore.service", declared)
    if declared != "enabled":
        return
    found = sorted(path for pattern in PSTORE for path in probe.glob(pattern))
    hint = "the kernel panicked or oopsed: read the messages there, then move them elsewhere or delete them"
    record.ok("crash_evidence.pstore.records", not found, expected="none", found=", ".join(found) or "none", hint=hint)


def test_rasdaemon(spec: Spec, record: Record, probe: Probe) -> None:
    """Errors are recorded across reboots, and none of memory is uncorrected."""
    declared, days = spec["crash_evidence_rasdaemon"], int(spec["crash_evidence_uncorrected_days"])
    _service(record, probe, "rasdaemon", "rasdaemon.service", declared)
    if declared != "enabled":
        return
    shown = probe.run(show_argv(["ExecStart"], ["rasdaemon.service"]))
    if shown.error or shown.rc != 0:
        record.could_not_run("crash_evidence.rasdaemon.records", shown.error or "systemctl: exit {}".format(shown.rc))
    else:
        words = parse_properties(shown.stdout).get("ExecStart", "").replace(";", " ").split()
        hint = "systemctl cat rasdaemon: without --record errors are in the journal only"
        found = "records" if {"-r", "--record"} & set(words) else "does not record"
        record.equal("crash_evidence.rasdaemon.records", "records", found, hint=hint)
    if not days:
        record.not_applicable("crash_evidence.rasdaemon.uncorrected", "not declared for this node")
        return
    since = "{:%Y-%m-%d}".format(dt.datetime.now().astimezone() - dt.timedelta(days=days))
    answer = probe.run(["python3", "-I", "-c", _QUERY, DATABASE, since])
    if answer.error or answer.rc != 0:
        reason = answer.error or (answer.stderr.strip().splitlines() or ["exit {}".format(answer.rc)])[-1]
        record.could_not_run("crash_evidence.rasdaemon.uncorrected", "{}: {}".format(DATABASE, reason))
        return
    errors = answer.stdout.strip().splitlines()
    hint = "find the DIMM in the event log of the BMC (`clusterctl bmc NODE`) and replace it; `ras-mc-ctl --errors` lists the records"
    record.ok(
        "crash_evidence.rasdaemon.uncorrected",
        not errors,
        expected="none in {} days".format(days),
        found="; ".join(errors) or "none",
        hint=hint,
    )


def _service(record: Record, probe: Probe, name: str, unit_name: str, declared: str) -> None:
    check = "crash_evidence.{}.service".format(name)
    if not declared:
        record.not_applicable(check, "not declared")
        return
    unit = probe.units([unit_name])[unit_name]
    if declared == "disabled":
        off = unit.active_state not in ("active", "activating") and unit.file_state not in ("enabled", "enabled-runtime")
        record.ok(check + ".off", off, expected="absent or off", found="{} {}".format(unit.active_state, unit.file_state), hint=_APPLY)
        return
    record.equal(check + ".persisted", "enabled", unit.file_state or unit.load_state, hint=_APPLY)
    # systemd-pstore runs at boot only, and only if there is something to save.
    if name != "pstore":
        record.equal(check + ".running", "active", unit.active_state, hint="systemctl status {0}; journalctl -b -u {0}".format(unit_name))


def _crashkernel(cmdline: str) -> str:
    """Every value of the parameter: the kernel takes the last one."""
    values: List[str] = [word.partition("=")[2] for word in cmdline.split() if word.startswith("crashkernel=")]
    return " ".join(values) or "(absent)"


def _settings(text: str) -> Mapping[str, str]:
    """Name -> last value, without quotes."""
    pairs = (line.strip().partition("=") for line in text.splitlines() if line.strip()[:1] not in ("", "#"))
    return {name.strip(): value.strip().strip("\"'") for name, _, value in pairs}


def _kdump_conf(text: str) -> Mapping[str, str]:
    """Name -> value; what follows `#` is a comment on every line (kdump_get_conf_val of kdump-utils)."""
    lines = (line.partition("#")[0].split(None, 1) for line in text.splitlines())
    return {words[0]: words[1].strip().strip('"') for words in lines if len(words) > 1}
