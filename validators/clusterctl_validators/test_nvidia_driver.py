"""The driver and its companions: the loaded and running versions, and the packages, files and units for the next boot."""

import re
from typing import Any, Dict, Mapping, Optional, Sequence

from clusterctl_tools import dnf, modinfo, nvidia_module
from clusterctl_tools.gpu import GpuLog, UnreadableGpuError
from clusterctl_validators import driver_pins, gpu_left_behind, gpu_modes, modprobe_files, nvlsm, refused_gpus, secure_boot
from clusterctl_validators.file_mode import FileMode, read_mode
from clusterctl_validators.finding import Severity
from clusterctl_validators.nvidia import NvidiaReader
from clusterctl_validators.pinned_packages import check_package
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

ROLE = "nvidia_driver"
LEFT_BY_ROLE = (
    "nvidia_driver.*.persisted",
    "nvidia_driver.package.held",
    "nvidia_driver.pins.*",
    "nvidia_driver.repository.*",
    "nvidia_driver.parameters.file*",
    "nvidia_driver.*.file.*",
    "nvidia_driver.gpu_settings.*",
    "nvidia_driver.persistenced.dropin.*",
)
# What a former user left; a reboot ends the first.
BEYOND_ROLE = ("nvidia_driver.compute_mode", "nvidia_driver.conf_compute", "nvidia_driver.memory_zone", "nvidia_driver.*.blacklisted")
Spec = Mapping[str, Any]
# nvidia-smi takes up to 30 s on eight GPUs while nvidia-persistenced does not run (Azure/aks-gpu pull 105); its own limit is 60 s.
LIMIT_S = 70
VERSIONS = {"nvidia_driver.version.running": ("GPU driver", "")}

OPTIONS_FILE = "/etc/modprobe.d/zz-clusterctl-nvidia.conf"
PEERMEM_FILE = "/etc/modules-load.d/nvidia-peermem.conf"
NVLSM_FILE = "/etc/modules-load.d/nvlsm.conf"
DROPIN = "/etc/systemd/system/nvidia-persistenced.service.d/90-clusterctl.conf"
APT_SOURCE = "/etc/apt/sources.list.d/nvidia.sources"
DNF_SOURCE = "/etc/yum.repos.d/nvidia.repo"
_VERSION = re.compile(r"\d+\.\d+(?:\.\d+)*")
_REBOOT = "reboot the node: the loaded module is not the installed one"
_PROVISION = "run `clusterctl provision NODE`"
# nvidia-smi reports GPU generations, without the Grace processor.
_ARCHITECTURES = {"ada": "Ada Lovelace", "grace_hopper": "Hopper", "grace_blackwell": "Blackwell"}


def _tool_version(record: Record, probe: Probe, check: str, declared: str, argv: Sequence[str]) -> None:
    """The version that a tool reports; a tool that is absent or prints none could not be checked."""
    result = probe.run(argv)
    found = _VERSION.search(result.stdout or result.stderr)
    if result.error or not found:
        record.could_not_run(check, "{}: {}".format(" ".join(argv), result.error or "exit {}, no version".format(result.rc)))
        return
    record.equal(check, declared, found.group(0), hint="the package has another version, or another copy is first in PATH")


def _unit(record: Record, probe: Probe, check: str, name: str, enabled: bool = True, *, static: bool = False) -> None:
    """A unit that runs and is enabled, or neither. static: also correct is a unit that cannot be enabled because udev starts it with its device."""
    unit = probe.units([name])[name]
    running, persisted = ("active", "enabled") if enabled else ("inactive", "disabled")
    if static and unit.file_state == "static":
        # Ubuntu's own package (canonical/nvidia-graphics-drivers, 71-nvidia.rules: SYSTEMD_WANTS).
        persisted = "static"
    hint = "systemctl status {}; journalctl -b -u {}".format(name, name)
    record.equal(check + ".running", running, unit.active_state, severity=Severity.CRITICAL if enabled else Severity.MAJOR, hint=hint)
    record.equal(check + ".persisted", persisted, unit.file_state, hint="systemctl {} {}".format("enable" if enabled else "disable", name))


def _file(record: Record, probe: Probe, check: str, path: str, expected_mode: str = "root 644") -> Optional[str]:
    """The text of a required file; also checks its owner and mode."""
    text = probe.read(path)
    record.ok(check + ".present", text is not None, expected=path, found=path if text is not None else "absent", hint=_PROVISION)
    if text is not None:
        mode = read_mode(probe, path)
        words = "{0.owner} {0.mode}".format(mode) if isinstance(mode, FileMode) else None
        record.equal(check + ".mode", expected_mode, words, severity=Severity.MINOR, hint=_PROVISION)
    return text


def _module_at_boot(record: Record, probe: Probe, check: str, path: str, module: str, *, hint: str) -> None:
    """A module that is listed in a file of modules-load.d and loaded; without a module the file must be absent."""
    if not module:
        found = "absent" if probe.read(path) is None else "present"
        record.equal(check + ".persisted", "absent", found, hint=_PROVISION)
        return
    lines = [line for line in (_file(record, probe, check + ".file", path) or "").splitlines() if line and not line.startswith("#")]
    record.equal(check + ".persisted", module, " ".join(lines) or "absent", hint=_PROVISION)
    modprobe_files.judge_blocked(record, probe, check, module)
    loaded = bool(probe.glob("/sys/module/" + module.replace("-", "_")))
    record.ok(check + ".running", loaded, expected="loaded", found="loaded" if loaded else "not loaded", hint=hint)


def test_loaded_module(spec: Spec, record: Record, probe: Probe) -> None:
    declared, flavour = spec["nvidia_driver_version"], spec["nvidia_driver_kernel_module"]
    text = probe.read("/proc/driver/nvidia/version")
    if text is None:
        hint = "reboot the node, or find out why the module does not load: modprobe nvidia; dkms status"
        record.equal("nvidia_driver.version.running", declared, "no module loaded", severity=Severity.CRITICAL, hint=hint)
        return
    loaded = nvidia_module.parse_version(text)
    record.equal("nvidia_driver.version.running", declared, loaded.version, severity=Severity.CRITICAL, hint=_REBOOT)
    record.equal("nvidia_driver.kernel_module.running", flavour, loaded.flavour, severity=Severity.CRITICAL, hint=_REBOOT)


def test_installed_module(spec: Spec, record: Record, probe: Probe) -> None:
    info = probe.run(modinfo.fields_argv("nvidia"))
    if info.error:
        record.could_not_run("nvidia_driver.version.persisted", info.error)
        return
    fields = modinfo.parse_fields(info.stdout)
    found = fields.get("version") or "this kernel has no nvidia module"
    hint = "dkms status; the headers of the running kernel must be installed"
    record.equal("nvidia_driver.version.persisted", spec["nvidia_driver_version"], found, severity=Severity.CRITICAL, hint=hint)
    flavour = nvidia_module.flavour_of_license(fields["license"]) if fields.get("license") else "none"
    record.equal(
        "nvidia_driver.kernel_module.persisted", spec["nvidia_driver_kernel_module"], flavour, severity=Severity.CRITICAL, hint=hint
    )
    secure_boot.judge_module("nvidia_driver.kernel_module.signature", "nvidia", probe, record)


def test_nvidia_smi(spec: Spec, record: Record, probe: Probe) -> None:
    try:
        log = NvidiaReader(probe).query()
    except UnreadableGpuError as e:
        record.could_not_run("nvidia_driver.nvidia_smi", str(e), Severity.CRITICAL)
        return
    record.equal("nvidia_driver.nvidia_smi", spec["nvidia_driver_version"], log.driver_version, severity=Severity.CRITICAL, hint=_REBOOT)
    _cuda(record, spec["nvidia_driver_cuda_version"], log.runtime_version)
    _architecture(record, spec["nvidia_driver_gpu_architecture"], log)
    if not spec["nvidia_driver_persistenced_version"]:
        record.not_applicable("nvidia_driver.persistence_mode", "no persistence daemon is declared")
        return
    for gpu in log.gpus:
        check = "nvidia_driver.gpu[{}].persistence_mode".format(gpu.index)
        hint = "systemctl restart nvidia-persistenced; without it every job waits for the driver to initialize, and settings are lost"
        record.equal(check, "Enabled", gpu.persistence, hint=hint)


def _cuda(record: Record, declared: str, found: str) -> None:
    if not declared:
        record.not_applicable("nvidia_driver.cuda_version", "no CUDA version is declared")
        return
    major = int(declared.partition(".")[0])
    enough = bool(found) and int(found.partition(".")[0]) >= major
    hint = "the driver is too old for this toolkit; see nvidia_versions in the inventory"
    expected = "CUDA {}.x or later".format(major)
    record.ok("nvidia_driver.cuda_version", enough, expected=expected, found=found or "not reported", hint=hint)


def _architecture(record: Record, declared: str, log: GpuLog) -> None:
    check = "nvidia_driver.gpu_architecture"
    found = sorted({g.architecture for g in log.gpus if g.architecture})
    if not declared or not found:
        record.not_applicable(check, "nvidia-smi does not report it (R525 and later do)" if declared else "not declared")
        return
    name = _ARCHITECTURES.get(declared, declared.capitalize())
    record.equal(check, name, ", ".join(found), hint="correct nvidia_driver_gpu_architecture, or check which GPUs are installed")


def test_gpu_modes(spec: Spec, record: Record, probe: Probe) -> None:
    """MIG, ECC, GSP firmware and power limit of every GPU."""
    gsp, mig, ecc = spec["nvidia_driver_gsp_firmware"], spec["nvidia_driver_mig"], spec["nvidia_driver_ecc"]
    power_w = int(spec["nvidia_driver_power_limit_w"])
    try:
        gpus = NvidiaReader(probe).query().gpus
    except UnreadableGpuError as e:
        record.could_not_run("nvidia_driver.gpu_modes", str(e), Severity.CRITICAL)
        return
    for gpu in gpus:
        if gsp:
            gpu_modes.check_gsp(record, gpu, gsp)
        if mig:
            gpu_modes.check_mig(record, gpu, mig)
        if ecc:
            gpu_modes.check_ecc(record, gpu, ecc)
        if power_w:
            gpu_modes.check_power(record, gpu, power_w)


def test_left_behind(spec: Spec, record: Record, probe: Probe) -> None:
    """Modes of GPUs and parameters of the module that nothing declares."""
    try:
        gpus = NvidiaReader(probe).query().gpus
        gpu_left_behind.judge_compute_mode(record, gpus)
        gpu_left_behind.judge_power_profiles(record, gpus)
    except UnreadableGpuError as e:
        record.could_not_run("nvidia_driver.compute_mode", str(e), Severity.CRITICAL)
    gpu_left_behind.judge_conf_compute(record, probe)
    refused_gpus.judge_memory_zone(record, probe)
    gpu_left_behind.judge_mps(record, probe)
    gpu_left_behind.judge_other_parameters(record, probe, _declared_parameters(spec))


def test_gpu_modes_after_boot(spec: Spec, record: Record, probe: Probe) -> None:
    """Settings that a GPU loses at boot are set again by a unit."""
    mig, power_w = spec["nvidia_driver_mig"], int(spec["nvidia_driver_power_limit_w"])
    if not mig and not power_w:
        found = "absent" if probe.read(gpu_modes.UNIT_FILE) is None else "present"
        record.equal("nvidia_driver.gpu_settings.unit", "absent", found, hint=_PROVISION)
        return
    script = _file(record, probe, "nvidia_driver.gpu_settings.script", gpu_modes.SCRIPT, "root 755") or ""
    written_mig, written_w = gpu_modes.written_settings(script)
    record.equal("nvidia_driver.gpu_settings.mig.persisted", mig or "not set", written_mig or "not set", hint=_PROVISION)
    record.equal("nvidia_driver.gpu_settings.power_limit_w.persisted", power_w, written_w, hint=_PROVISION)
    unit = _file(record, probe, "nvidia_driver.gpu_settings.unit", gpu_modes.UNIT_FILE) or ""
    found = "; ".join(gpu_modes.starts(unit)) or "nothing"
    record.equal("nvidia_driver.gpu_settings.unit.starts", gpu_modes.SCRIPT, found, hint=_PROVISION)
    _unit(record, probe, "nvidia_driver.gpu_settings.service", gpu_modes.UNIT)


def test_other_fabrics(spec: Spec, record: Record, probe: Probe) -> None:
    """The daemon of another kind of fabric is absent, or neither runs nor starts at boot."""
    for fabric, name in (("fabricmanager", "nvidia-fabricmanager.service"), ("imex", "nvidia-imex.service")):
        if fabric == spec["nvidia_driver_fabric"]:
            continue
        unit = probe.units([name])[name]
        off = unit.active_state not in ("active", "activating") and unit.file_state not in ("enabled", "enabled-runtime")
        found = "{} {}".format(unit.active_state, unit.file_state)
        hint = "systemctl disable --now {}; this platform does not use it".format(name)
        record.ok("nvidia_driver.{}.off".format(fabric), off, expected="absent or off", found=found, hint=hint)


def test_imex(spec: Spec, record: Record, probe: Probe) -> None:
    declared = spec["nvidia_driver_imex_version"]
    if not declared:
        record.not_applicable("nvidia_driver.imex", "none is declared")
        return
    _tool_version(record, probe, "nvidia_driver.imex.version", declared, ["nvidia-imex", "--version"])


def test_fabric_manager(spec: Spec, record: Record, probe: Probe) -> None:
    declared = spec["nvidia_driver_fabric_manager_version"]
    if not declared:
        record.not_applicable("nvidia_driver.fabric_manager", "none is declared")
        return
    _tool_version(record, probe, "nvidia_driver.fabric_manager.version", declared, ["nv-fabricmanager", "--version"])
    _unit(record, probe, "nvidia_driver.fabric_manager.service", "nvidia-fabricmanager.service")


def test_nvlsm(spec: Spec, record: Record, probe: Probe) -> None:
    """The NVLink subnet manager: the fabric manager of fourth-generation NVSwitches does not start without it."""
    declared = spec["nvidia_driver_nvlsm_version"]
    if not declared:
        record.not_applicable("nvidia_driver.nvlsm", "none is declared")
        return
    result = probe.run([nvlsm.PROGRAM, "--version"])
    found = nvlsm.parse_version(result.stdout + "\n" + result.stderr)
    if result.error or not found:
        reason = result.error or "exit {}, no version".format(result.rc)
        record.could_not_run("nvidia_driver.nvlsm.version", "{} --version: {}".format(nvlsm.PROGRAM, reason))
    else:
        record.equal("nvidia_driver.nvlsm.version", declared, found, hint="the package has another version; reinstall it")
    check = "nvidia_driver.nvlsm.process.running"
    process = probe.run(["pgrep", "-x", "nvlsm"])
    if process.error or process.rc not in (0, 1):
        record.could_not_run(check, "pgrep: {}".format(process.error or "exit {}".format(process.rc)), Severity.CRITICAL)
        return
    words = "running" if process.rc == 0 else "no process nvlsm"
    hint = "journalctl -b -u nvidia-fabricmanager: its unit starts nvlsm"
    record.ok(check, process.rc == 0, expected="running", found=words, severity=Severity.CRITICAL, hint=hint)


def test_ib_umad(spec: Spec, record: Record, probe: Probe) -> None:
    """The kernel module through which the NVLink subnet manager accesses the NVSwitches."""
    hint = "modprobe ib_umad; without it the fabric manager does not start"
    _module_at_boot(
        record, probe, "nvidia_driver.nvlsm.ib_umad", NVLSM_FILE, "ib_umad" if spec["nvidia_driver_nvlsm_version"] else "", hint=hint
    )


def test_persistence_daemon(spec: Spec, record: Record, probe: Probe) -> None:
    declared = spec["nvidia_driver_persistenced_version"]
    if not declared:
        record.not_applicable("nvidia_driver.persistenced", "none is declared")
        return
    _tool_version(record, probe, "nvidia_driver.persistenced.version", declared, ["nvidia-persistenced", "--version"])
    _unit(record, probe, "nvidia_driver.persistenced.service", "nvidia-persistenced.service", static=True)
    text = _file(record, probe, "nvidia_driver.persistenced.dropin", DROPIN)
    if text is not None:
        starts = [line for line in text.splitlines() if line.startswith("ExecStart=/")]
        good = bool(starts) and "--persistence-mode" in starts[-1].split()
        found = starts[-1] if starts else "no ExecStart"
        record.ok("nvidia_driver.persistenced.dropin.content", good, expected="--persistence-mode", found=found, hint=_PROVISION)


def test_dcgm(spec: Spec, record: Record, probe: Probe) -> None:
    declared = spec["nvidia_driver_dcgm_version"]
    if not declared:
        record.not_applicable("nvidia_driver.dcgm", "none is declared")
        return
    _tool_version(record, probe, "nvidia_driver.dcgm.version", declared, ["dcgmi", "--version"])
    _unit(record, probe, "nvidia_driver.dcgm.service", "nvidia-dcgm.service", spec["nvidia_driver_dcgm_hostengine"])


def test_container_toolkit(spec: Spec, record: Record, probe: Probe) -> None:
    declared = spec["nvidia_driver_container_toolkit_version"]
    if not declared:
        record.not_applicable("nvidia_driver.container_toolkit", "none is declared")
        return
    _tool_version(record, probe, "nvidia_driver.container_toolkit.version", declared, ["nvidia-ctk", "--version"])


def test_packages(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["nvidia_driver_packages"]:
        record.not_applicable("nvidia_driver.packages", "none are declared")
    for package in spec["nvidia_driver_packages"]:
        check_package(record, probe, package, spec["nvidia_driver_hold"])


def test_pins(spec: Spec, record: Record, probe: Probe) -> None:
    """All packages of the driver are pinned to its version, and have it."""
    packages, members = spec["nvidia_driver_packages"], spec["nvidia_driver_set"]
    if probe.are_of_rpm():
        record.not_applicable("nvidia_driver.pins", "dnf: the stream of the driver's module hides other versions")
        return
    if not packages:
        found = "absent" if probe.read(driver_pins.FILE) is None else "present"
        record.equal("nvidia_driver.pins.persisted", "absent", found, hint=_PROVISION)
        return
    text = _file(record, probe, "nvidia_driver.pins", driver_pins.FILE) or ""
    driver_pins.check_pins(record, text, packages, members, hint=_PROVISION)
    driver_pins.check_members(record, probe.packages(), members, spec["nvidia_driver_version"])
    driver_pins.check_source(record, probe.packages(), packages, spec["nvidia_driver_source"])


def test_installer(spec: Spec, record: Record, probe: Probe) -> None:
    driver_pins.check_installer(record, probe.glob(driver_pins.UNINSTALLER), spec["nvidia_driver_packages"])


def test_module_stream(spec: Spec, record: Record, probe: Probe) -> None:
    """With dnf, the stream of the driver's module that is enabled."""
    declared = spec["nvidia_driver_dnf_module"]
    if not declared:
        record.not_applicable("nvidia_driver.stream", "none is declared")
        return
    name, _, stream = declared.partition(":")
    result = probe.run(dnf.enabled_streams_argv(name))
    enabled = dnf.parse_streams(result.stdout, name)
    if result.error:
        record.could_not_run("nvidia_driver.stream.persisted", "dnf: " + result.error)
        return
    record.equal("nvidia_driver.stream.persisted", stream, enabled[0] if enabled else "none enabled", hint=_PROVISION)


def test_repository(spec: Spec, record: Record, probe: Probe) -> None:
    repository = spec["nvidia_driver_repository"]
    if not repository:
        record.not_applicable("nvidia_driver.repository", "the node's own sources are used")
        return
    declared = [*repository.get("uris", []), *([repository["baseurl"]] if repository.get("baseurl") else [])]
    text = _file(record, probe, "nvidia_driver.repository", APT_SOURCE if repository.get("uris") else DNF_SOURCE)
    if text is not None:
        missing = [uri for uri in declared if uri not in text.split() and "baseurl=" + uri not in text.replace(" ", "").splitlines()]
        expected = ", ".join(declared)
        record.ok(
            "nvidia_driver.repository.address", not missing, expected=expected, found=", ".join(missing) + " missing", hint=_PROVISION
        )


def _declared_parameters(spec: Spec) -> Dict[str, str]:
    declared = nvidia_module.as_written(spec["nvidia_driver_module_parameters"])
    if spec["nvidia_driver_gsp_firmware"]:
        declared["NVreg_EnableGpuFirmware"] = str(int(spec["nvidia_driver_gsp_firmware"] == "enabled"))
    return declared


def test_module_parameters(spec: Spec, record: Record, probe: Probe) -> None:
    declared = _declared_parameters(spec)
    if not declared:
        found = "absent" if probe.read(OPTIONS_FILE) is None else "present"
        record.equal("nvidia_driver.parameters.file", "absent", found, hint=_PROVISION)
        return
    _file(record, probe, "nvidia_driver.parameters.file", OPTIONS_FILE)
    written = nvidia_module.parse_options(modprobe_files.read_all(probe))
    params = probe.read("/proc/driver/nvidia/params")
    running = None if params is None else nvidia_module.parse_parameters(params)
    for name, value in declared.items():
        at = "nvidia_driver.parameter[{}].".format(name)
        record.equal(at + "persisted", value, written.get(name, "absent"), hint=_PROVISION)
        if running is None:
            record.could_not_run(at + "running", "no NVIDIA module is loaded")
            continue
        known = [running[n] for n in nvidia_module.listed_names(name) if n in running]
        record.equal(at + "running", value, known[0] if known else "not listed", hint="reboot: parameters are read when the module loads")


def test_peermem(spec: Spec, record: Record, probe: Probe) -> None:
    hint = "reboot, or modprobe nvidia-peermem; without it GPUDirect RDMA falls back to host memory"
    _module_at_boot(
        record, probe, "nvidia_driver.peermem", PEERMEM_FILE, "nvidia-peermem" if spec["nvidia_driver_peermem"] else "", hint=hint
    )
