"""The running kernel and the one of the next boot: command line, package, modules and their options."""

import re
from typing import Any, Dict, List, Optional, Tuple

from clusterctl_tools import dnf
from clusterctl_tools.kernel_cmdline import as_words, by_canonical_name, canonical, declared_values, managed, parse_canonical
from clusterctl_tools.package_list import Package
from clusterctl_validators import modprobe_files
from clusterctl_validators.boot_menu import boot_entries, default_kernel
from clusterctl_validators.finding import Severity
from clusterctl_validators.probe import Probe, ProbeError
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView

ROLE = "kernel"
LEFT_BY_ROLE = ("kernel.*.persisted", "kernel.package.held")
BEYOND_ROLE = ("kernel.modules.blacklisted",)
RUNNING_KERNEL = "kernel.release.running"
VERSIONS = {"kernel.release.running": ("kernel", "")}
# They take processors or memory from jobs (kernel-parameters.rst): a kernel that has them does not show what it lacks.
_TAKES_FROM_JOBS = ("isolcpus", "nohz_full", "maxcpus", "nr_cpus", "possible_cpus", "nosmt", "mem", "memmap")
REBOOT = "reboot the node: the running kernel was started with other parameters"
APPLY = "apply the role kernel"
KEEP = "provision the node: it starts this kernel once, and keeps it when that boot succeeds"
UPGRADE = "an upgrade could install a kernel that the drivers do not match: " + APPLY


def _parameters(spec: SpecView) -> Dict[str, Any]:
    """All declared parameters, the consoles included."""
    consoles: List[str] = spec["kernel_console"]
    return {**spec["kernel_cmdline"], **({"console": consoles} if consoles else {})}


def test_running_command_line(spec: SpecView, probe: Probe, record: Record) -> None:
    declared = _parameters(spec)
    if not declared:
        record.not_applicable("kernel.cmdline", "no parameter is declared")
        return
    running = by_canonical_name(probe.cmdline())
    for name, value in declared.items():
        found = managed(name, declared_values(value), running.get(canonical(name), []))
        if not isinstance(value, list) and len(set(found)) == 1:
            found = found[:1]  # a repeated equal value is harmless for a running kernel
        expected = as_words(name, declared_values(value))
        record.equal("kernel.cmdline[{}].running".format(name), expected, as_words(name, found), hint=REBOOT)


def test_undeclared_parameters(spec: SpecView, probe: Probe, record: Record) -> None:
    """Parameters that take processors or memory from jobs, and that nothing declares."""
    declared = {canonical(name) for name in _parameters(spec)}
    if probe.read("/proc/cmdline") is None:
        record.not_applicable("kernel.cmdline_undeclared", "/proc/cmdline is absent")
        return
    running = by_canonical_name(probe.cmdline())
    others = [as_words(name, running[name]) for name in _TAKES_FROM_JOBS if name in running and name not in declared]
    if others:
        hint = (
            "declare them in kernel_cmdline, or take them out of GRUB's files (/etc/default/grub, /etc/default/grub.d) and reboot the node"
        )
        record.warn("kernel.cmdline_undeclared", expected="none", found=" ".join(others), hint=hint)
    else:
        record.equal("kernel.cmdline_undeclared", "none", "none")


def test_next_command_line(spec: SpecView, probe: Probe, record: Record) -> None:
    declared = _parameters(spec)
    if not declared:
        return
    menus = [parse_canonical(entry.args) for entry in boot_entries(probe)]
    for name, value in declared.items():
        expected = as_words(name, declared_values(value))
        found = [as_words(name, managed(name, declared_values(value), menu.get(canonical(name), []))) for menu in menus]
        worst = next((f for f in found if f != expected), expected)
        record.equal("kernel.cmdline[{}].persisted".format(name), expected, worst, hint=APPLY)


def test_packages(spec: SpecView, probe: Probe, record: Record) -> None:
    package, version, hold = spec["kernel_package"], spec["kernel_version"], spec["kernel_hold"]
    extra: List[str] = spec["kernel_extra_packages"]
    if not package:
        record.not_applicable("kernel.package", "kernel_package is empty")
        return
    installed = probe.packages()
    for name in [package, *extra]:
        found = installed.get(name)
        check = "kernel.package[{}]".format(name)
        record.equal(check + ".version", version, _version(found, version), hint=APPLY)
        record.equal(check + ".held", hold, bool(found and found.held), hint=UPGRADE)
    for name in (n for n in dnf.kernel_set(package) if n not in (package, *extra)):
        part = installed.get(name)
        if part is not None and part.installed:
            record.equal("kernel.package[{}].held".format(name), hold, part.held, hint=UPGRADE)


def _version(package: Optional[Package], declared: str) -> str:
    """The installed version; the declared one where it is among several."""
    if package is None or not package.installed:
        return "(not installed)"
    return declared if package.has(declared) else package.version


def test_release(spec: SpecView, probe: Probe, record: Record) -> None:
    release = spec["kernel_release"]
    uname = probe.run(["uname", "-r"])
    if not release:
        record.seen(RUNNING_KERNEL, uname.stdout.strip())
        return
    if uname.error or uname.rc != 0:
        record.could_not_run(RUNNING_KERNEL, "uname: " + (uname.error or uname.stderr.strip()), Severity.CRITICAL)
    else:
        record.equal(RUNNING_KERNEL, release, uname.stdout.strip(), severity=Severity.CRITICAL, hint="reboot the node")
    try:
        next_release = default_kernel(probe).rpartition("vmlinuz-")[2]
    except ProbeError as e:
        record.could_not_run("kernel.release.persisted", str(e))
    else:
        record.equal("kernel.release.persisted", release, next_release, hint=KEEP)


def test_modules(spec: SpecView, probe: Probe, record: Record) -> None:
    modules: List[str] = spec["kernel_modules"]
    if not modules:
        record.not_applicable("kernel.modules", "no module is declared")
        return
    builtin = _builtin(probe)
    at_boot = set(_words(probe, "/etc/modules-load.d/*.conf"))
    for name in modules:
        check = "kernel.modules[{}]".format(name)
        loaded = _loaded(probe, name) or _plain(name) in builtin
        record.ok(check + ".running", loaded, expected="loaded", found="loaded" if loaded else "not loaded", hint=APPLY)
        persisted = _plain(name) in at_boot
        found = "in modules-load.d" if persisted else "not in modules-load.d"
        record.ok(check + ".persisted", persisted, expected="in modules-load.d", found=found, hint=APPLY)
        modprobe_files.judge_blocked(record, probe, check, name)


def test_absent_modules(spec: SpecView, probe: Probe, record: Record) -> None:
    lines = {" ".join([verb, _plain(name), *rest]) for verb, name, *rest in _modprobe_lines(probe)}
    for name in spec["kernel_modules_absent"]:
        check = "kernel.modules_absent[{}]".format(name)
        loaded = _loaded(probe, name)
        record.ok(check + ".running", not loaded, expected="not loaded", found="loaded" if loaded else "not loaded", hint="reboot the node")
        ways = ["blacklist " + _plain(name), "install {} /bin/false".format(_plain(name))]
        missing = [way for way in ways if way not in lines]
        found = "missing: " + ", ".join(missing) if missing else "forbidden"
        record.ok(check + ".persisted", not missing, expected="forbidden", found=found, hint=APPLY)


def test_module_options(spec: SpecView, probe: Probe, record: Record) -> None:
    persisted: Dict[str, str] = {}
    for verb, module, *options in _modprobe_lines(probe):
        if verb == "options":
            persisted.update({"{}.{}".format(_plain(module), o.partition("=")[0]): o.partition("=")[2] for o in options})
    for module, options in spec["kernel_module_options"].items():
        for option, value in options.items():
            check = "kernel.module_options[{}.{}]".format(module, option)
            found = persisted.get("{}.{}".format(_plain(module), option), "(not set)")
            record.equal(check + ".persisted", _option(value), _option(found), hint=APPLY)
            _running_option(probe, record, check + ".running", (module, option), value)


def _running_option(probe: Probe, record: Record, check: str, key: Tuple[str, str], value: Any) -> None:
    module, option = key
    if not _loaded(probe, module):
        record.not_applicable(check, "{} is not loaded".format(module))
        return
    found = probe.read("/sys/module/{}/parameters/{}".format(_plain(module), option))
    if found is None:
        record.could_not_run(check, "{} exposes no parameter {}; waive this check if it is hidden".format(module, option))
    else:
        record.equal(check, _option(value), _option(found), hint="reload the module or reboot the node")


def _option(value: Any) -> str:
    text = str(int(value)) if isinstance(value, bool) else str(value).strip()
    return {"Y": "1", "N": "0"}.get(text, text)


def _plain(name: str) -> str:
    return name.replace("-", "_")


def _loaded(probe: Probe, name: str) -> bool:
    return bool(probe.glob("/sys/module/" + _plain(name)))


def _builtin(probe: Probe) -> List[str]:
    release = probe.run(["uname", "-r"])
    listing = probe.read("/lib/modules/{}/modules.builtin".format(release.stdout.strip())) if release.rc == 0 else None
    return [_plain(re.sub(r"\.ko.*$", "", line.rpartition("/")[2])) for line in (listing or "").splitlines()]


def _words(probe: Probe, pattern: str) -> List[str]:
    texts = [probe.read(path) or "" for path in probe.glob(pattern)]
    return [_plain(line.strip()) for text in texts for line in text.splitlines() if line.strip() and line.strip()[0] not in "#;"]


def _modprobe_lines(probe: Probe) -> List[List[str]]:
    """The words of each line of modprobe.d, in modprobe's order."""
    lines = [line.split() for line in modprobe_files.read_all(probe).splitlines()]
    return [words for words in lines if len(words) > 1 and not words[0].startswith("#")]
