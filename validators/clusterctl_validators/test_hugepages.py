"""Huge pages per NUMA node, on the kernel command line, and the mounts of hugetlbfs."""

from typing import Any, Dict, List

from clusterctl_tools.kernel_cmdline import kernel_words
from clusterctl_tools.mount_unit import unit_name
from clusterctl_validators.boot_menu import boot_entries
from clusterctl_validators.probe import Mount, Probe
from clusterctl_validators.record import Record
from clusterctl_validators.spec_view import SpecView

ROLE = "hugepages"
LEFT_BY_ROLE = ("hugepages.*.persisted",)
CONFIG = "/etc/clusterctl/hugepages.conf"
UNIT = "clusterctl-hugepages.service"
SIZES_KIB = {"2M": 2048, "32M": 32768, "512M": 524288, "1G": 1048576, "16G": 16777216}
_KEYS = ("default_hugepagesz", "hugepagesz", "hugepages")
APPLY = "apply the role hugepages"


def test_pages_of_each_node(spec: SpecView, probe: Probe, record: Record) -> None:
    pages: List[Dict[str, Any]] = spec["hugepages_pages"]
    if not pages:
        record.not_applicable("hugepages.pages", "no huge pages are declared")
        return
    at_boot = {tuple(line.split()[:2]): line.split()[2] for line in (probe.read(CONFIG) or "").splitlines() if len(line.split()) == 3}
    for page in pages:
        size, node, count = page["size"], int(page["node"]), int(page["count"])
        check = "hugepages.pages[{}].node{}".format(size, node)
        path = "/sys/devices/system/node/node{}/hugepages/hugepages-{}kB/nr_hugepages".format(node, SIZES_KIB[size])
        found = probe.read(path)
        hint = "memory is fragmented or in use: reboot, or reserve the pages with hugepages_cmdline"
        if found is None:
            record.could_not_run(check + ".running", "{} is absent: no such NUMA node or page size".format(path))
        else:
            record.equal(check + ".running", count, found, hint=hint)
        record.equal(check + ".persisted", count, at_boot.get((size, str(node)), "(not allocated at boot)"), hint=APPLY)


def test_service_allocates_at_boot(spec: SpecView, probe: Probe, record: Record) -> None:
    if not spec["hugepages_pages"]:
        return
    unit = probe.units([UNIT])[UNIT]
    record.equal("hugepages.service.persisted", "enabled", unit.file_state or unit.load_state, hint=APPLY)


def test_command_line(spec: SpecView, probe: Probe, record: Record) -> None:
    declared = _words(spec["hugepages_pages"], bool(spec["hugepages_cmdline"]), spec["hugepages_default_size"])
    if not declared:
        record.not_applicable("hugepages.cmdline", "neither pages on the command line nor hugepages_default_size are declared")
        return
    expected = " ".join(declared)
    running = _own(probe.read("/proc/cmdline") or "")
    record.equal("hugepages.cmdline.running", expected, running or "(absent)", hint="reboot the node")
    persisted = [_own(entry.args) for entry in boot_entries(probe)]
    worst = next((words for words in persisted if words != expected), expected)
    record.equal("hugepages.cmdline.persisted", expected, worst or "(absent)", hint=APPLY)


def test_mounts(spec: SpecView, probe: Probe, record: Record) -> None:
    declared: List[Dict[str, Any]] = spec["hugepages_mounts"]
    mounted = {m.target: m for m in probe.mounts()}
    names = {m["path"]: unit_name(m["path"]) for m in declared}
    units = probe.units(list(names.values()))
    for mount in declared:
        path, unit = mount["path"], names[mount["path"]]
        check = "hugepages.mounts[{}]".format(path)
        expected = _description(mount["size"], str(mount.get("mode", "1770")), int(mount.get("gid", 0)))
        record.equal(check + ".running", expected, _found(mounted[path]) if path in mounted else "(not mounted)", hint=APPLY)
        options = _options_of_unit(probe.read("/etc/systemd/system/" + unit) or "")
        found = _found(Mount("", path, "hugetlbfs", tuple(options))) if options else "(no unit)"
        state = units[unit].file_state or units[unit].load_state
        record.equal(check + ".persisted", expected + ", enabled", "{}, {}".format(found, state), hint=APPLY)


def _words(pages: List[Dict[str, Any]], on_cmdline: bool, default_size: str) -> List[str]:
    words = ["default_hugepagesz=" + default_size] if default_size else []
    for size in sorted({p["size"] for p in pages if int(p["count"])}) if on_cmdline else []:
        total = sum(int(p["count"]) for p in pages if p["size"] == size)
        words += ["hugepagesz=" + size, "hugepages={}".format(total)]
    return words


def _own(cmdline: str) -> str:
    return " ".join(word for word in kernel_words(cmdline) if word.partition("=")[0] in _KEYS)


def _description(size: str, mode: str, gid: int) -> str:
    return "hugetlbfs of {} pages, mode {}, gid {}".format(size, mode.lstrip("0"), gid)


def _found(mount: Mount) -> str:
    """A mount in declared form: the kernel omits gid=0 and its default mode 755, and writes sizes in MiB."""
    if mount.fstype != "hugetlbfs":
        return mount.fstype
    options = dict(o.partition("=")[::2] for o in mount.options)
    size = {"1024M": "1G", "16384M": "16G"}.get(options.get("pagesize", ""), options.get("pagesize", "default"))
    return _description(size, options.get("mode", "755"), int(options.get("gid", 0)))


def _options_of_unit(text: str) -> List[str]:
    for line in text.splitlines():
        if line.startswith("Options="):
            return line[len("Options=") :].split(",")
    return []
