"""The network stack: the driver and adapter settings in force, and the packages, files, flash and units for the next boot."""

import re
from typing import Any, Dict, List, Mapping, Optional

from clusterctl_tools import apt, dnf, mlxconfig, modinfo
from clusterctl_tools.setpci import UnreadableRegisterError
from clusterctl_validators import adapter_tools, dkms_build, rdma_names, rdma_sysfs, secure_boot
from clusterctl_validators.adapter_tools import UnreadableToolError
from clusterctl_validators.device_control import next_action, read_device_control
from clusterctl_validators.file_mode import FileMode, read_mode
from clusterctl_validators.finding import Severity
from clusterctl_validators.pinned_packages import check_package
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

ROLE = "ofed"
LEFT_BY_ROLE = (
    "ofed.driver.persisted",
    "ofed.device*.persisted",
    "ofed.device_names.file*",
    "ofed.exclusion.*",
    "ofed.rebuild.*",
    "ofed.package.held",
    "ofed.package.candidate.*",
    "ofed.max_read_request.persisted",
    "ofed.max_read_request.*.*",
    "ofed.openibd.dropin.*",
    "ofed.openibd.persisted",
)
# Adapters keep power through a warm reboot. Which parameters of mlxconfig are read at power-on only on HGX B200 is not confirmed, so each is read back.
COLD = {"ofed.mlxconfig[*].running": "ofed.mlxconfig[*].persisted"}
# With the wrong link type, no link comes up.
COLD_LINKS = True
# Boards of one kind (PSID) take one firmware.
VERSIONS = {"ofed.firmware[*].running": ("HCA firmware", "ofed.firmware[*].psid")}
# One check for each adapter: the tools need seconds for each, and a check has one time limit.
EACH = {"device": "ofed_devices"}
# flint and mlxconfig query an adapter by writing to its PCI configuration and registers.
WRITABLE = ("/sys/bus/pci/drivers/mlx5_core/*:*/config", "/sys/bus/pci/drivers/mlx5_core/*:*/resource0")
Spec = Mapping[str, Any]

APT_SOURCE = "/etc/apt/sources.list.d/ofed.sources"
DNF_SOURCE = "/etc/yum.repos.d/ofed.repo"
PREFERENCES = "/etc/apt/preferences.d/90-clusterctl-ofed"
DROPIN = "/etc/systemd/system/openibd.service.d/90-clusterctl.conf"
CONF = "/etc/clusterctl/ofed.conf"
SCRIPT = "/usr/local/sbin/clusterctl-ofed"
UNIT = "clusterctl-ofed.service"
UNIT_FILE = "/etc/systemd/system/" + UNIT
UDEV_RULE = "/etc/udev/rules.d/90-clusterctl-ofed.rules"
NAMES_RULE = "/etc/udev/rules.d/60-rdma-persistent-naming.rules"
RDMA = "/sys/class/infiniband/{}/"
_NO_DEVICE = "no device is declared"
_PROVISION = "run `clusterctl provision NODE`"
_REBOOT = "reboot the node: the loaded driver is not the installed one"
_RESET = "in the flash, but not in force: reset the adapter's firmware (mlxfwreset), reboot, or power-cycle the node if neither is enough"
# Names from rdma_rename of rdma-core: ibp24s0, ibP2p3s0f1v4, roces5, ibo3, rocex525400c0fe123455.
_RENAMED = re.compile(r"^(ib|roce|iw|opa|rdma)(o\d+|x[0-9a-f]{16}|(P\d+)?(s\d+|p\d+s\d+)(f\d+(v\d+)?)?)$")
_ONE_LINK_TYPE = "no setting changes it: replace the adapter, or declare the link type that it has"
_HIDDEN = "unknown to this firmware, or hidden: ADVANCED_PCI_SETTINGS and a reset reveal hidden ones"


def _file(record: Record, probe: Probe, check: str, path: str, mode: str = "644") -> Optional[str]:
    """The text of a required file; also checks its owner and mode."""
    text = probe.read(path)
    record.ok(check + ".present", text is not None, expected=path, found=path if text is not None else "absent", hint=_PROVISION)
    if text is not None:
        found_mode = read_mode(probe, path)
        words = "{0.owner} {0.mode}".format(found_mode) if isinstance(found_mode, FileMode) else None
        record.equal(check + ".mode", "root " + mode, words, severity=Severity.MINOR, hint=_PROVISION)
    return text


def _absent(record: Record, probe: Probe, check: str, path: str) -> None:
    record.equal(check, "absent", "absent" if probe.read(path) is None else "present", hint=_PROVISION)


def _tool(spec: Spec, name: str) -> str:
    """The vendor's stack has MFT's tools; those of the distribution are prefixed with `mst`."""
    return name if spec["ofed_flavour"] != "inbox" else {"mlxconfig": "mstconfig", "flint": "mstflint"}[name]


def _address(record: Record, probe: Probe, check: str, device: str) -> Optional[str]:
    """The PCI address of an RDMA device; None, with a finding, if there is none."""
    if not probe.glob(RDMA.format(device)):
        hint = "the driver did not initialize it: dmesg | grep mlx5"
        record.ok(check, False, expected=device, found="no such RDMA device", severity=Severity.CRITICAL, hint=hint)
        return None
    address = rdma_sysfs.address_of(probe, device)
    if not address:
        record.could_not_run(check, "{} belongs to no PCI function".format(device))
        return None
    return address


def test_driver(spec: Spec, record: Record, probe: Probe) -> None:
    flavour, driver = spec["ofed_flavour"], spec["ofed_driver_version"]
    expected = driver if flavour != "inbox" else "the kernel's own"
    if probe.read("/sys/module/mlx5_core/initstate") is None:
        record.equal(
            "ofed.driver.running", expected, "mlx5_core is not loaded", severity=Severity.CRITICAL, hint="modprobe mlx5_core; dkms status"
        )
    else:
        foreign = "O" in (probe.read("/sys/module/mlx5_core/taint") or "")
        found = (probe.read("/sys/module/mlx5_core/version") or "unnamed") if foreign else "the kernel's own"
        record.equal("ofed.driver.running", expected, found, severity=Severity.CRITICAL, hint=_REBOOT)
    info = probe.run(modinfo.fields_argv("mlx5_core"))
    if info.error:
        record.could_not_run("ofed.driver.persisted", info.error)
        return
    fields = modinfo.parse_fields(info.stdout)
    own = "/kernel/drivers/" in fields.get("filename", "")
    found = "the kernel's own" if own else fields.get("version") or "this kernel has no mlx5_core"
    hint = "dkms status; the headers of the running kernel must be installed"
    record.equal("ofed.driver.persisted", expected, found, severity=Severity.CRITICAL, hint=hint)
    secure_boot.judge_module("ofed.driver.signature", "mlx5_core", probe, record)


def test_release(spec: Spec, record: Record, probe: Probe) -> None:
    flavour = spec["ofed_flavour"]
    if flavour == "inbox":
        record.not_applicable("ofed.release", "the kernel's own stack has no release")
        return
    expected = "OFED-internal-" + spec["ofed_driver_version"] if flavour == "doca" else "MLNX_OFED_LINUX-" + spec["ofed_version"]
    info = probe.run(["ofed_info", "-s"])
    if info.error or info.rc != 0:
        record.could_not_run("ofed.release", "ofed_info: " + (info.error or info.stderr.strip() or "exit {}".format(info.rc)))
        return
    record.equal("ofed.release", expected, info.stdout.strip().rstrip(":"), hint="packages of another release: " + _PROVISION)


def test_packages(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["ofed_packages"]:
        record.not_applicable("ofed.packages", "none are declared")
    for package in spec["ofed_packages"]:
        check_package(record, probe, package, spec["ofed_hold"])


def test_exclusion(spec: Spec, record: Record, probe: Probe) -> None:
    excluded: List[str] = spec["ofed_exclude_distribution"]
    if probe.are_of_rpm():
        _dnf_exclusion(record, probe, spec["ofed_dnf_excludes"] or dict.fromkeys(_distribution(record, probe, excluded), excluded))
        return
    if not excluded:
        _absent(record, probe, "ofed.exclusion.persisted", PREFERENCES)
        return
    text = _file(record, probe, "ofed.exclusion", PREFERENCES) or ""
    stanzas = [dict(line.split(": ", 1) for line in s.splitlines() if ": " in line and line[0] != "#") for s in text.split("\n\n")]
    exclusions = [s for s in stanzas if s.get("Pin-Priority") == "-1"]
    found = exclusions[0].get("Package", "") if exclusions else "nothing excluded"
    record.equal("ofed.exclusion.persisted", " ".join(excluded), found, hint=_PROVISION)
    pins = {s.get("Package", ""): s.get("Pin", "") for s in stanzas if s.get("Pin-Priority") == "1001"}
    _candidates(record, probe, spec["ofed_packages"], pins)


def _candidates(record: Record, probe: Probe, packages: List[Mapping[str, Any]], pins: Mapping[str, str]) -> None:
    """The versions that apt would install of the declared packages."""
    if not packages:
        return
    policy = probe.run(apt.policy_argv([package["name"] for package in packages]))
    candidates = apt.parse_candidates(policy.stdout)
    for package in packages:
        check = "ofed.package[{}].candidate".format(package["name"])
        record.equal(check + ".persisted", "version " + package["version"], pins.get(package["name"], "not pinned"), hint=_PROVISION)
        candidate = candidates.get(package["name"])
        if policy.error or not candidate:
            record.could_not_run(check + ".running", "apt-cache: " + (policy.error or "no candidate shown"))
        else:
            hint = "another file of /etc/apt/preferences.d has priority, or the repository is gone"
            record.equal(check + ".running", package["version"], candidate, hint=hint)


def _distribution(record: Record, probe: Probe, excluded: List[str]) -> List[str]:
    """The distribution's repositories, where something is excluded from them."""
    if not excluded:
        return []
    listed = probe.run(dnf.repolist_argv())
    found = dnf.distribution_repositories(listed.stdout)
    if listed.error or not found:
        why = listed.error or "no repository is named after BaseOS or AppStream"
        record.could_not_run("ofed.exclusion.persisted", "dnf repolist: " + why)
    return found


def _dnf_exclusion(record: Record, probe: Probe, excludes: Mapping[str, List[str]]) -> None:
    for repository, excluded in excludes.items():
        check = "ofed.exclusion[{}].persisted".format(repository)
        dump = probe.run(dnf.repository_argv(repository))
        found = dnf.parse_excludes(dump.stdout)
        if dump.error or found is None:
            record.could_not_run(check, "dnf config-manager: " + (dump.error or "no excludepkgs shown"))
        else:
            record.equal(check, ",".join(excluded), found, hint=_PROVISION)


def test_repository(spec: Spec, record: Record, probe: Probe) -> None:
    repository = spec["ofed_repository"]
    # A key that is not set is None.
    declared = [*(repository.get("uris") or []), *([repository["baseurl"]] if repository.get("baseurl") else [])]
    if not declared:
        record.not_applicable("ofed.repository", "the node's own sources are used")
        return
    text = _file(record, probe, "ofed.repository", APT_SOURCE if repository.get("uris") else DNF_SOURCE)
    if text is not None:
        missing = [uri for uri in declared if uri not in text.split() and "baseurl=" + uri not in text.replace(" ", "").splitlines()]
        found = ", ".join(missing) + " missing" if missing else ", ".join(declared)
        record.ok("ofed.repository.address", not missing, expected=", ".join(declared), found=found, hint=_PROVISION)


def test_openibd(spec: Spec, record: Record, probe: Probe) -> None:
    if spec["ofed_flavour"] == "inbox":
        record.not_applicable("ofed.openibd", "the kernel's own stack has no openibd")
        return
    name = "openibd.service"
    unit = probe.units([name])[name]
    if not spec["ofed_openibd"]:
        _absent(record, probe, "ofed.openibd.dropin", DROPIN)
        record.equal("ofed.openibd.persisted", "disabled", unit.file_state, hint="systemctl disable " + name)
        return
    record.equal("ofed.openibd.running", "active", unit.active_state, hint="journalctl -b -u " + name)
    record.equal("ofed.openibd.persisted", "enabled", unit.file_state, hint="systemctl enable " + name)
    lines = (_file(record, probe, "ofed.openibd.dropin", DROPIN) or "").splitlines()
    missing = [
        w for w in ("After=systemd-udev-settle.service", "Wants=systemd-udev-settle.service", "Restart=on-failure") if w not in lines
    ]
    found = "missing: " + ", ".join(missing) if missing else "waits for udev, restarts on failure"
    record.ok("ofed.openibd.dropin.content", not missing, expected="waits for udev, restarts on failure", found=found, hint=_PROVISION)


def test_rebuilt_modules(spec: Spec, record: Record, probe: Probe) -> None:
    modules = spec["ofed_rebuild_modules"]
    if not modules:
        record.not_applicable("ofed.rebuild", "no module is declared")
        return
    kernel = probe.run(["uname", "-r"]).stdout.strip()
    for item in modules:
        check = "ofed.rebuild[{}]".format(item["module"])
        info = probe.run(modinfo.fields_argv(item["module"]))
        if info.error or not kernel:
            record.could_not_run(check + ".vermagic", info.error or "uname gives no answer")
            continue
        fields = modinfo.parse_fields(info.stdout)
        found = modinfo.release_of(fields.get("vermagic", "")) or "this kernel has no such module"
        hint = "the module does not load because it was built for another kernel: dkms autoinstall -k " + kernel
        # weak-modules of EL links modules whose symbols have the checksums of this kernel, which then does not compare releases.
        linked = found != kernel and "/weak-updates/" in fields.get("filename", "")
        shown = found + ", linked by weak-modules" if linked else found
        record.ok(check + ".vermagic", linked or found == kernel, expected=kernel, found=shown, severity=Severity.CRITICAL, hint=hint)
        secure_boot.judge_module(check + ".signature", item["module"], probe, record)
        if item.get("dkms"):
            dkms_build.judge_build(check + ".dkms", item["dkms"], kernel, probe, record)


def test_device_names(spec: Spec, record: Record, probe: Probe) -> None:
    scheme = spec["ofed_device_names"]
    if not scheme:
        if (probe.read(NAMES_RULE) or "").startswith("# Written by clusterctl"):
            record.ok(
                "ofed.device_names.file", False, expected="the distribution's, or the site's own", found="the role's", hint=_PROVISION
            )
        else:
            record.not_applicable("ofed.device_names", "the distribution's names are used")
        return
    text = _file(record, probe, "ofed.device_names.file", NAMES_RULE) or ""
    record.equal("ofed.device_names.persisted", "NAME_" + scheme.upper(), rdma_names.schemes(text), hint=_PROVISION)
    rdma_names.judge_fixed_names(spec, text, record, probe)
    names = [path.rstrip("/").rpartition("/")[2] for path in probe.glob(RDMA.format("*"))]
    if scheme == "kernel":
        others = [name for name in names if _RENAMED.match(name)]
        found = ", ".join(others) or "the kernel's names"
        record.ok("ofed.device_names.running", not others, expected="the kernel's names", found=found, hint=rdma_names.RENAMED_HINT)
        return
    declared = [name for name in spec["ofed_devices"] if name not in spec["ofed_device_addresses"]]
    if not declared:
        record.not_applicable("ofed.device_names.running", "no device without an address is declared")
    else:
        absent = [name for name in declared if name not in names]
        found = ", ".join(names) or "no RDMA device"
        record.ok("ofed.device_names.running", not absent, expected=", ".join(declared), found=found, hint=rdma_names.RENAMED_HINT)


def test_firmware(spec: Spec, record: Record, probe: Probe, device: str) -> None:
    declared = {f["psid"]: f["version"] for f in spec["ofed_firmware"]}
    if not device:
        record.not_applicable("ofed.firmware", _NO_DEVICE)
        return
    hint = "flash the declared firmware by the site's own procedure; the role ofed does not flash firmware"
    check = "ofed.firmware[{}]".format(device)
    if not declared:
        record.seen(check + ".psid", probe.read(RDMA.format(device) + "board_id"))
        record.seen(check + ".running", probe.read(RDMA.format(device) + "fw_ver"))
        return
    address = _address(record, probe, check + ".running", device)
    if address is None:
        return
    board = probe.read(RDMA.format(device) + "board_id") or "not shown"
    version = declared.get(board)
    other = "different board: add it to ofed_firmware, or replace the adapter"
    record.ok(check + ".psid", version is not None, expected=", ".join(sorted(declared)), found=board, hint=other)
    if version is None:
        return
    record.equal(check + ".running", version, probe.read(RDMA.format(device) + "fw_ver"), hint=hint)
    try:
        flash = adapter_tools.read_flash_firmware(probe, _tool(spec, "flint"), address)
    except UnreadableToolError as e:
        record.could_not_run(check + ".persisted", "flint: {}".format(e))
        return
    record.equal(check + ".persisted", version, flash, hint=hint)


def test_nv_configuration(spec: Spec, record: Record, probe: Probe, device: str) -> None:
    declared: Dict[str, Any] = spec["ofed_mlxconfig"]
    if not declared or not device:
        record.not_applicable("ofed.mlxconfig", "no parameter is declared" if device else _NO_DEVICE)
        return
    check = "ofed.mlxconfig[{}]".format(device)
    address = _address(record, probe, check, device)
    if address is None:
        return
    try:
        rows = adapter_tools.read_parameters(probe, _tool(spec, "mlxconfig"), address, list(declared))
    except UnreadableToolError as e:
        record.could_not_run(check, "mlxconfig: {}".format(e))
        return
    for name, value in declared.items():
        at = "ofed.mlxconfig[{}.{}]".format(device, name)
        row = rows.get(name)
        fixed = mlxconfig.fixed_link_type(name, probe.read(RDMA.format(device) + "ports/1/link_layer") or "")
        if row is None and fixed:
            found = fixed + ", the adapter's only link type"
            record.ok(at + ".running", mlxconfig.same(value, fixed), expected=value, found=found, hint=_ONE_LINK_TYPE)
            continue
        if row is None:
            record.ok(at + ".persisted", False, expected=value, found="no such parameter", hint=_HIDDEN)
            continue
        right = mlxconfig.same(value, row.next_boot)
        record.ok(at + ".persisted", right, expected=value, found=row.next_boot, hint=_PROVISION)
        hint = _RESET if right else _PROVISION
        record.ok(at + ".running", mlxconfig.same(value, row.current), expected=value, found=row.current, hint=hint)


def test_max_read_request(spec: Spec, record: Record, probe: Probe) -> None:
    size, devices = spec["ofed_max_read_request_bytes"], spec["ofed_devices"]
    if not size:
        _absent(record, probe, "ofed.max_read_request.unit", UNIT_FILE)
        _absent(record, probe, "ofed.max_read_request.rule", UDEV_RULE)
        return
    for device in devices:
        check = "ofed.max_read_request[{}].running".format(device)
        address = _address(record, probe, check, device)
        if address is None:
            continue
        try:
            found = read_device_control(probe, address).max_read_request_bytes
        except UnreadableRegisterError as e:
            record.could_not_run(check, "setpci: {}".format(e))
            continue
        record.equal(check, size, found, hint=next_action(probe, "a reset of the adapter clears it: systemctl start " + UNIT))
    conf = (_file(record, probe, "ofed.max_read_request.conf", CONF) or "").splitlines()
    at_boot = dict(line.split() for line in conf if len(line.split()) == 2)
    for device in devices:
        check = "ofed.max_read_request[{}].persisted".format(device)
        record.equal(check, size, at_boot.get(device, "not set at boot"), hint=_PROVISION)
    script = _file(record, probe, "ofed.max_read_request.script", SCRIPT, mode="755") or ""
    record.ok(
        "ofed.max_read_request.script.content",
        "CAP_EXP+8.w=" in script,
        expected="sets CAP_EXP+8.w",
        found="a different script",
        hint=_PROVISION,
    )
    unit_text = _file(record, probe, "ofed.max_read_request.unit", UNIT_FILE) or ""
    starts = "ExecStart={} apply".format(SCRIPT)
    record.ok(
        "ofed.max_read_request.unit.content",
        starts in unit_text.splitlines(),
        expected=starts,
        found="a different command",
        hint=_PROVISION,
    )
    unit = probe.units([UNIT])[UNIT]
    record.equal("ofed.max_read_request.service.persisted", "enabled", unit.file_state or unit.load_state, hint="systemctl enable " + UNIT)
    record.ok(
        "ofed.max_read_request.service.running",
        unit.active_state != "failed",
        expected="not failed",
        found=unit.active_state,
        hint="journalctl -b -u " + UNIT,
    )
    rule = _file(record, probe, "ofed.max_read_request.rule", UDEV_RULE) or ""
    wants = any('SUBSYSTEM=="infiniband"' in line and UNIT in line for line in rule.splitlines() if not line.startswith("#"))
    record.ok("ofed.max_read_request.rule.content", wants, expected="starts " + UNIT, found="a different rule", hint=_PROVISION)
