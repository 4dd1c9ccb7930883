"""The parts of a node and their health: processors, memory, GPUs, NVLink, HCAs, disks, PCIe links, and hardware errors in the kernel log."""

from typing import Any, FrozenSet, Mapping, Optional, Tuple

from clusterctl_tools.gpu import Gpu, UnreadableGpuError
from clusterctl_tools.util_linux import LSBLK, UnreadableInventoryError, parse_nvme_data_disks, parse_nvme_system_disks
from clusterctl_validators import hardware_kernel_log, hca_ports, pcie, secure_boot
from clusterctl_validators.dimm_errors import judge_dimms
from clusterctl_validators.disk_errors import is_local
from clusterctl_validators.finding import Severity
from clusterctl_validators.gpu import GpuReader
from clusterctl_validators.gpu_direct import by_data_direct
from clusterctl_validators.gpu_health import Limits, memory_rules
from clusterctl_validators.gpu_links import judge_fabric_state, judge_gpu_link_flaps, judge_gpu_links
from clusterctl_validators.gpu_vendor import reader_of
from clusterctl_validators.hardware_disks import judge_nvme_health
from clusterctl_validators.hardware_machine import judge_model, judge_processors, judge_release
from clusterctl_validators.hardware_memory import judge_memory, judge_numa_nodes
from clusterctl_validators.hardware_pcie import hca_device, judge_iommu, judge_link, judge_widths
from clusterctl_validators.kept_parts import keep_parts
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import UNDECLARED, Record

ROLE = "hardware"
ASSERTS_ONLY = True
# Of the others, links, fabric and modes of GPUs come up with what other roles bring.
ASSERTED = (
    "hardware.os",
    "hardware.machine",
    "hardware.cpu",
    "hardware.cpu.architecture",
    "hardware.cpu.sockets",
    "hardware.cpu.cores_per_socket",
    "hardware.memory",
    "hardware.gpus.on_pci",
    "hardware.gpu.model",
    "hardware.gpu.vbios",
    "hardware.gpu.memory_mib",
    "hardware.gpu.pcie_*",
    "hardware.hca.place",
    "hardware.hca.present",
    "hardware.hca.firmware",
    "hardware.nvme_data_disks",
)
Spec = Mapping[str, Any]
# Links train, and GPUs join their fabric, after SSH answers (docs/reference/fabric.md, "After a boot").
AFTER_BOOT = ("hardware.gpu.fabric*", "hardware.gpu.nvlinks", "hardware.gpu.nvlink_rate", "hardware.hca.*state", "hardware.hca.rate_gbps")
# nvidia-smi takes up to 30 s on eight GPUs while nvidia-persistenced does not run (Azure/aks-gpu pull 105); its own limit is 60 s.
LIMIT_S = 70
VERSIONS = {
    "hardware.gpu[*].vbios": ("GPU VBIOS", "hardware.gpu[*].model"),
    "hardware.nvme_firmware[*]": ("NVMe firmware", "*"),
    "hardware.bios_version": ("BIOS", "hardware.machine"),
    "hardware.microcode": ("microcode", "hardware.machine"),
    "hardware.memory_modules": ("memory", "hardware.machine"),
}

_NO_GPUS = "no GPUs are declared for this node"
_RESEAT = "power off the node and reseat it; if the fault remains, RMA"


def _gpus(spec: Spec, reader: GpuReader, record: Record, check: str) -> Tuple[Gpu, ...]:
    """The GPUs to check; none, with the reason recorded under `check`, if none are declared or the vendor's tool fails."""
    if not spec["hardware_gpus"]:
        record.not_applicable(check, _NO_GPUS)
        return ()
    try:
        gpus = reader.query().gpus
    except UnreadableGpuError as e:
        record.could_not_run(check, str(e), Severity.CRITICAL)
        return ()
    if not gpus:
        record.could_not_run(check, "{} lists no GPU".format(reader.tool), Severity.CRITICAL)
    return gpus


def _at(gpu: Gpu) -> str:
    return "hardware.gpu[{}].".format(gpu.index)


def _unreported(reader: GpuReader) -> str:
    return "{} does not report it".format(reader.tool)


def _gpu_hint(gpu: Gpu, advice: str) -> str:
    return "GPU at {}, serial {}: {}".format(gpu.bus_id, gpu.serial or "unknown", advice)


def test_machine(spec: Spec, record: Record, probe: Probe) -> None:
    judge_release(spec["hardware_os"], record, probe)
    judge_model(spec["hardware_machines"], record, probe)
    keep_parts(record, probe)


def test_processors(spec: Spec, record: Record, probe: Probe) -> None:
    declared = {
        "architecture": spec["hardware_architecture"],
        "sockets": spec["hardware_cpu_sockets"],
        "cores_per_socket": spec["hardware_cpu_cores_per_socket"],
        "threads_per_core": spec["hardware_cpu_threads_per_core"],
    }
    judge_processors(declared, record, probe)


def test_numa_nodes(spec: Spec, record: Record, probe: Probe) -> None:
    judge_numa_nodes(spec["hardware_numa_nodes"], probe, record)


def test_memory(spec: Spec, record: Record, probe: Probe) -> None:
    judge_memory(spec["hardware_memory_min_gib"], probe, record)


def test_gpu_count(spec: Spec, record: Record, probe: Probe) -> None:
    expected = spec["hardware_gpus"]
    if not expected:
        record.not_applicable("hardware.gpus.count", _NO_GPUS)
        return
    reader = reader_of(probe, spec["hardware_gpu_vendor"])
    hint = reader.advice.missing
    record.equal("hardware.gpus.on_pci", expected, len(reader.on_pci()), severity=Severity.CRITICAL, hint=hint)
    try:
        log = reader.query()
    except UnreadableGpuError as e:
        if e.lost:
            record.ok("hardware.gpus.count", False, expected=expected, found=str(e), severity=Severity.CRITICAL, hint=hint)
        else:
            record.could_not_run("hardware.gpus.count", str(e), Severity.CRITICAL)
        return
    record.equal("hardware.gpus.count", expected, min(log.attached, len(log.gpus)), severity=Severity.CRITICAL, hint=hint)


def test_gpu_parts(spec: Spec, record: Record, probe: Probe) -> None:
    reader = reader_of(probe, spec["hardware_gpu_vendor"])
    for gpu in _gpus(spec, reader, record, "hardware.gpus.parts"):
        at = _at(gpu)
        _declared(record, at + "model", spec["hardware_gpu_model"], gpu.model, _gpu_hint(gpu, "not the ordered part"))
        _declared(
            record, at + "vbios", spec["hardware_gpu_vbios"], gpu.vbios, _gpu_hint(gpu, "update the GPU's firmware to the pinned version")
        )
        _floor(record, reader, at + "memory_mib", spec["hardware_gpu_memory_min_mib"], gpu.memory_mib, hint=_gpu_hint(gpu, _RESEAT))
        # What GPU and slot can do. What they do is seen under load only, by the gate nvbandwidth: an idle link may drop to generation 1.
        _floor(record, reader, at + "pcie_gen_max", spec["hardware_gpu_pcie_gen"], gpu.pcie_gen_max, hint=_gpu_hint(gpu, _RESEAT))
        _floor(record, reader, at + "pcie_width", spec["hardware_gpu_pcie_width"], gpu.pcie_width_current, hint=_gpu_hint(gpu, _RESEAT))


def _declared(record: Record, check: str, declared: str, found: str, hint: str) -> None:
    if declared:
        record.equal(check, declared, found, hint=hint)
    else:
        record.seen(check, found)


def _floor(record: Record, reader: GpuReader, check: str, minimum: int, found: Optional[int], *, hint: str) -> None:
    if not minimum:
        record.not_applicable(check, UNDECLARED)
    elif found is None:
        record.could_not_run(check, _unreported(reader))
    else:
        record.ok(check, found >= minimum, expected=">= {}".format(minimum), found=found, hint=hint)


def test_gpu_settings(spec: Spec, record: Record, probe: Probe) -> None:
    ecc = "Enabled" if spec["hardware_gpu_ecc"] else "Disabled"
    reader = reader_of(probe, spec["hardware_gpu_vendor"])
    for gpu in _gpus(spec, reader, record, "hardware.gpus.settings"):
        at = _at(gpu)
        hint = _gpu_hint(gpu, reader.ecc_command(gpu.index, spec["hardware_gpu_ecc"]) + ", then reboot")
        record.equal(at + "ecc_mode.running", ecc, gpu.ecc_current, severity=Severity.CRITICAL, hint=hint)
        record.equal(at + "ecc_mode.persisted", ecc, gpu.ecc_pending, severity=Severity.CRITICAL, hint=hint)
        limit = spec["hardware_gpu_power_limit_w"] or gpu.power_max_w
        if gpu.power_limit_w is None or limit is None:
            record.could_not_run(at + "power_limit_w", _unreported(reader))
            continue
        hint = _gpu_hint(gpu, reader.power_command(gpu.index, limit) + "; check the BMC for power capping")
        record.ok(at + "power_limit_w", gpu.power_limit_w >= limit, expected=">= {:g}".format(limit), found=gpu.power_limit_w, hint=hint)


def test_gpu_memory_health(spec: Spec, record: Record, probe: Probe) -> None:
    limits = Limits(
        volatile_sram_correctable=spec["hardware_ecc_sram_correctable_max"],
        volatile_dram_correctable=spec["hardware_ecc_dram_correctable_max"],
        aggregate_sram_uncorrectable=spec["hardware_ecc_aggregate_sram_uncorrectable_max"],
        aggregate_dram_uncorrectable=spec["hardware_ecc_aggregate_dram_uncorrectable_max"],
        remapped_rows=spec["hardware_remapped_rows_max"],
        retired_pages=spec["hardware_retired_pages_max"],
    )
    reader = reader_of(probe, spec["hardware_gpu_vendor"])
    for gpu in _gpus(spec, reader, record, "hardware.gpus.memory_health"):
        if gpu.ecc_current != "Enabled":
            record.not_applicable(_at(gpu) + "ecc", "this GPU counts no errors without ECC; see ecc_mode")
            continue
        for rule in memory_rules(gpu, limits):
            check = _at(gpu) + rule.name
            if rule.found is None:
                record.could_not_run(check, _unreported(reader), Severity.CRITICAL)
                continue
            expected = "<= {}".format(rule.expected) if isinstance(rule.expected, int) else rule.expected
            record.ok(check, rule.holds, expected=expected, found=rule.found, severity=Severity.CRITICAL, hint=_gpu_hint(gpu, rule.hint))
        if gpu.banks_with_few_rows:
            hint = _gpu_hint(gpu, "plan its replacement: few more errors in such a bank make it an RMA")
            record.warn(_at(gpu) + "row_remap.banks_with_few_spare_rows", expected=0, found=gpu.banks_with_few_rows, hint=hint)


def test_gpu_recovery_action(spec: Spec, record: Record, probe: Probe) -> None:
    for gpu in _gpus(spec, reader_of(probe, spec["hardware_gpu_vendor"]), record, "hardware.gpus.recovery_action"):
        if gpu.recovery_action is None:
            record.not_applicable(_at(gpu) + "recovery_action", "this driver does not report it (R560 and later do)")
            continue
        hint = _gpu_hint(gpu, "drain the node and follow the driver's recovery action: {}".format(gpu.recovery_action))
        record.equal(_at(gpu) + "recovery_action", "None", gpu.recovery_action, severity=Severity.CRITICAL, hint=hint)


def test_nvlink_fabric(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["hardware_gpu_fabric"]:
        record.not_applicable("hardware.gpus.fabric", "these GPUs are not on an NVSwitch fabric")
        return
    reader = reader_of(probe, spec["hardware_gpu_vendor"])
    for gpu in _gpus(spec, reader, record, "hardware.gpus.fabric"):
        hint = _gpu_hint(gpu, reader.advice.fabric)
        judge_fabric_state(record, _at(gpu) + "fabric", gpu, hint)
        if gpu.fabric_health is None and not gpu.fabric_problems:
            record.not_applicable(_at(gpu) + "fabric_health", "{} does not report it".format(reader.tool))
            continue
        health = ": ".join(filter(None, (gpu.fabric_health or "N/A", gpu.fabric_problems)))
        record.equal(_at(gpu) + "fabric_health", "Healthy", health, severity=Severity.CRITICAL, hint=hint)


def test_gpu_power_brake(spec: Spec, record: Record, probe: Probe) -> None:
    """The power supplies or the board hold the GPU back (clock event reason 0x80), at rest too."""
    for gpu in _gpus(spec, reader_of(probe, spec["hardware_gpu_vendor"]), record, "hardware.gpus.power_brake"):
        if gpu.power_brake is None:
            record.not_applicable(_at(gpu) + "power_brake", "this driver does not report it")
            continue
        hint = _gpu_hint(gpu, "check power supplies, power shelf and cables of the node (`clusterctl bmc NODE`); the GPU is not at fault")
        record.equal(_at(gpu) + "power_brake", "Not Active", gpu.power_brake, severity=Severity.CRITICAL, hint=hint)


def test_nvlinks(spec: Spec, record: Record, probe: Probe) -> None:
    expected = spec["hardware_gpu_nvlinks"]
    if not expected or not spec["hardware_gpus"]:
        record.not_applicable("hardware.gpus.nvlinks", UNDECLARED if spec["hardware_gpus"] else _NO_GPUS)
        return
    reader = reader_of(probe, spec["hardware_gpu_vendor"])
    try:
        active = reader.active_links()
    except UnreadableGpuError as e:
        record.could_not_run("hardware.gpus.nvlinks", str(e), Severity.CRITICAL)
        return
    for index in range(spec["hardware_gpus"]):
        hint = "GPU {}: {}".format(index, reader.advice.links)
        floor = spec["hardware_gpu_nvlink_gb_per_s"]
        judge_gpu_links(record, index, active.get(index, {}), expected=expected, floor=floor, hint=hint)


def test_nvlink_flaps(spec: Spec, record: Record, probe: Probe) -> None:
    gpus = spec["hardware_gpus"] if spec["hardware_gpu_nvlinks"] else 0
    judge_gpu_link_flaps(record, reader_of(probe, spec["hardware_gpu_vendor"]), gpus, spec["hardware_nvlink_flaps_max"])


def test_hcas(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["hardware_hcas"]:
        record.not_applicable("hardware.hcas", UNDECLARED)
    hca_ports.judge_hcas(spec["hardware_hcas"], record, probe)


def test_hca_affinity(spec: Spec, record: Record, probe: Probe) -> None:
    near = {h["name"]: h["gpu"] for h in spec["hardware_hcas"] if h.get("gpu") is not None}
    if not near:
        record.not_applicable("hardware.hcas.affinity", UNDECLARED)
        return
    if by_data_direct(probe):
        record.not_applicable("hardware.hcas.affinity", "the adapters reach GPUs by Data Direct, whose paths no tool shows")
        return
    reader = reader_of(probe, spec["hardware_gpu_vendor"])
    try:
        topology = reader.hca_paths()
    except UnreadableGpuError as e:
        record.could_not_run("hardware.hcas.affinity", str(e))
        return
    for name, gpu in near.items():
        path = topology.get(name, {}).get(gpu)
        if path is None:
            record.could_not_run(
                "hardware.hca[{}].gpu".format(name), "{} shows no path between {} and GPU {}".format(reader.tool, name, gpu)
            )
            continue
        hint = "{} and GPU {} should share a PCIe switch: check slots and cabling, or correct hardware_hcas".format(name, gpu)
        record.ok(
            "hardware.hca[{}].gpu".format(name),
            path in reader.near_paths,
            expected=" or ".join(sorted(reader.near_paths)),
            found=path,
            hint=hint,
        )


def test_nvme_data_disks(spec: Spec, record: Record, probe: Probe) -> None:
    minimum = spec["hardware_nvme_data_disks"]
    if not minimum:
        record.not_applicable("hardware.nvme_data_disks", UNDECLARED)
        return
    result = probe.run(LSBLK)
    try:
        disks = [d for d in parse_nvme_data_disks(result.stdout) if is_local(probe, d)]
    except UnreadableInventoryError as e:
        record.could_not_run("hardware.nvme_data_disks", "lsblk: {}".format(result.error or e))
        return
    hint = "found {}; reseat or replace the missing disk".format(", ".join(disks) or "none")
    empty = [name for name in pcie.nvme_devices(probe) if not pcie.namespaces_of(probe, name)]
    if empty:
        hint = "{} without a namespace, which a user may have deleted: `nvme create-ns`, `nvme attach-ns`; no disk is missing".format(
            ", ".join(empty)
        )
    record.ok("hardware.nvme_data_disks", len(disks) >= minimum, expected=minimum, found=len(disks), hint=hint)


def test_nvme_health(spec: Spec, record: Record, probe: Probe) -> None:
    judge_nvme_health(record, probe, spec["hardware_nvme_used_max_percent"])


def test_pcie_links(spec: Spec, record: Record, probe: Probe) -> None:
    """The links of HCAs and NVMe disks; the GPUs' are in test_gpu_parts."""
    for hca in hca_ports.devices(spec["hardware_hcas"]):
        device = hca_device(hca["name"])
        if probe.read(device + "/vendor") is not None:  # test_hcas reports an absent one
            at = "hardware.hca[{}].".format(hca["name"])
            judge_link(record, at, pcie.read_link(probe, device), (spec["hardware_hca_pcie_gen"], spec["hardware_hca_pcie_width"]))
    if not spec["hardware_hcas"]:
        record.not_applicable("hardware.hcas.pcie", UNDECLARED)
    if not spec["hardware_nvme_data_disks"]:
        record.not_applicable("hardware.nvme.pcie", UNDECLARED)
        return
    system = _system_disks(probe)
    for name, device in pcie.nvme_devices(probe).items():
        boots = bool(system.intersection(pcie.namespaces_of(probe, name)))
        declared = (0, 0) if boots else (spec["hardware_nvme_pcie_gen"], spec["hardware_nvme_pcie_width"])
        judge_link(record, "hardware.nvme[{}].".format(name), pcie.read_link(probe, device), declared)


def _system_disks(probe: Probe) -> FrozenSet[str]:
    """Disks of the system, which are often M.2 of an older generation than the data disks: what is declared is not about them."""
    try:
        return frozenset(parse_nvme_system_disks(probe.run(LSBLK).stdout))
    except UnreadableInventoryError:
        return frozenset()


def test_pcie_path(spec: Spec, record: Record, probe: Probe) -> None:
    """The lanes of every link from a GPU or an HCA to its root port; test_pcie_links has the HCAs' own."""
    gpus = reader_of(probe, spec["hardware_gpu_vendor"]).on_pci() if spec["hardware_gpus"] else []
    judge_widths(record, probe, gpus, [hca_device(hca["name"]) for hca in hca_ports.devices(spec["hardware_hcas"])])


def test_iommu(spec: Spec, record: Record, probe: Probe) -> None:
    present = {h["name"]: hca_device(h["name"]) for h in spec["hardware_hcas"]}
    judge_iommu(spec["hardware_iommu"], probe, record, {n: d for n, d in present.items() if probe.read(d + "/vendor") is not None})


def test_secure_boot(spec: Spec, record: Record, probe: Probe) -> None:
    secure_boot.judge_state(spec["hardware_secure_boot"], probe, record)


def _log_limits(spec: Spec) -> hardware_kernel_log.LogLimits:
    return hardware_kernel_log.LogLimits(
        spec["hardware_log_hours"],
        frozenset(spec["hardware_xids_tolerated"]),
        spec["hardware_aer_corrected_max"],
        spec["hardware_mce_corrected_max"],
        spec["hardware_link_flaps_max"],
    )


def test_kernel_log(spec: Spec, record: Record, probe: Probe) -> None:
    """Errors of GPUs and NVSwitches."""
    hardware_kernel_log.judge_gpus(spec, _log_limits(spec), record, probe)


def test_disk_errors(spec: Spec, record: Record, probe: Probe) -> None:
    hardware_kernel_log.judge_disks(spec, _log_limits(spec), record, probe)


def test_machine_errors(spec: Spec, record: Record, probe: Probe) -> None:
    """PCIe errors and machine checks."""
    hardware_kernel_log.judge_machine(spec, _log_limits(spec), record, probe)


def test_link_log(spec: Spec, record: Record, probe: Probe) -> None:
    """Losses of the HCAs' links, and PCIe links that trained below what was declared."""
    hardware_kernel_log.judge_links(spec, _log_limits(spec), record, probe)


def test_dimms(spec: Spec, record: Record, probe: Probe) -> None:
    """Corrected errors of memory."""
    if not spec["hardware_gpus"] and not spec["hardware_hcas"]:
        record.not_applicable("hardware.dimms", "neither GPUs nor HCAs are declared for this node")
        return
    judge_dimms(record, probe, spec["hardware_dimm_corrected_per_day_max"])
