"""What role hardware takes from the kernel log: errors of GPUs, PCIe, memory, disks and adapters, losses of links, and PCIe links that trained low."""

from typing import Any, Dict, FrozenSet, List, Mapping, NamedTuple, Optional, Sequence, Tuple

from clusterctl_tools.gpu import Gpu, UnreadableGpuError
from clusterctl_validators import hca_ports, link_log, machine_errors, pcie, rdma_lag
from clusterctl_validators.boot_log import UnreadableLogError
from clusterctl_validators.finding import Severity
from clusterctl_validators.gpu import GpuReader
from clusterctl_validators.gpu_vendor import reader_of
from clusterctl_validators.hardware_device_log import DISKS, judge_adapters, judge_disk_errors
from clusterctl_validators.hardware_link_log import Device, judge_bandwidth, judge_flaps, path_of
from clusterctl_validators.hardware_log import Window, judge_aer, judge_aer_of_parts, judge_gpu_events, judge_machine_checks
from clusterctl_validators.probe import Probe, ProbeError
from clusterctl_validators.rail_interface import interface_of
from clusterctl_validators.record import Record

Spec = Mapping[str, Any]


class LogLimits(NamedTuple):
    """The declared limits: hours that count (0: since boot), XIDs that are tolerated, and most corrected errors and losses of a link."""

    hours: int
    xids_tolerated: FrozenSet[int]
    aer_corrected_max: int
    mce_corrected_max: int
    link_flaps_max: int


def judge_gpus(spec: Spec, limits: LogLimits, record: Record, probe: Probe) -> None:
    """XIDs and SXids."""
    if not spec["hardware_gpus"]:
        record.not_applicable("hardware.xids", "no GPUs are declared for this node")
        return
    window = _window(limits.hours, record, probe, "hardware.xids")
    if window is None:
        return
    reader = reader_of(probe, spec["hardware_gpu_vendor"])
    try:
        events = reader.events()
    except UnreadableGpuError as e:
        record.could_not_run("hardware.xids", str(e), Severity.CRITICAL)
        return
    judge_gpu_events(record, events, window, limits.xids_tolerated, reader.advice.switch, gpus=_known_gpus(reader))


def _known_gpus(reader: GpuReader) -> Tuple[Gpu, ...]:
    """None where the vendor's tool fails, which other checks report."""
    try:
        return reader.query().gpus
    except UnreadableGpuError:
        return ()


def judge_machine(spec: Spec, limits: LogLimits, record: Record, probe: Probe) -> None:
    """PCIe errors and machine checks."""
    if not spec["hardware_gpus"] and not spec["hardware_hcas"]:
        record.not_applicable("hardware.aer", "neither GPUs nor HCAs are declared for this node")
        return
    window = _window(limits.hours, record, probe, "hardware.aer", "hardware.mce")
    if window:
        errors = machine_errors.parse(window.log.text)
        judge_aer(record, errors.aer, pcie.aer_counts(probe), window, limits.aer_corrected_max)
        if any(not e.corrected for e in errors.aer):
            judge_aer_of_parts(record, errors.aer, window, _addresses(spec, probe))
        judge_machine_checks(record, errors.machine_checks, window, limits.mce_corrected_max)


def _addresses(spec: Spec, probe: Probe) -> Dict[str, str]:
    gpus = _known_gpus(reader_of(probe, spec["hardware_gpu_vendor"])) if spec["hardware_gpus"] else ()
    found = {"hardware.gpu[{}].aer".format(gpu.index): gpu.bus_id for gpu in gpus}
    found.update({"hardware.hca[{}].aer".format(hca.name): hca.address for hca in _present_hcas(spec, probe)})
    return found


def judge_disks(spec: Spec, limits: LogLimits, record: Record, probe: Probe) -> None:
    """Errors of disks and file systems."""
    if not spec["hardware_gpus"] and not spec["hardware_hcas"]:
        record.not_applicable(DISKS, "neither GPUs nor HCAs are declared for this node")
        return
    window = _window(limits.hours, record, probe, DISKS)
    if window:
        judge_disk_errors(record, probe, window)


def judge_links(spec: Spec, limits: LogLimits, record: Record, probe: Probe) -> None:
    """Errors of the HCAs, losses of their links, and PCIe bandwidth below what is declared."""
    if not spec["hardware_gpus"] and not spec["hardware_hcas"]:
        record.not_applicable("hardware.link_log", "neither GPUs nor HCAs are declared for this node")
        return
    window = _window(limits.hours, record, probe, "hardware.link_log")
    if window is None:
        return
    events = link_log.parse(window.log.text)
    hcas = _present_hcas(spec, probe)
    judge_flaps(record, events, _ports(spec, probe, hcas), window, limits.link_flaps_max)
    judge_adapters(record, {hca.name: hca.address for hca in hcas}, window)
    paths = [path_of(probe, hca, spec["hardware_hca_pcie_gen"], spec["hardware_hca_pcie_width"]) for hca in hcas]
    judge_bandwidth(record, "hardware.pcie_bandwidth.hcas", window, events.bandwidths, paths)
    found = pcie.gpu_functions(probe) if spec["hardware_gpus"] else {}
    # A GPU at rest lowers its generation, at boot too; its lanes stay.
    gpus = [path_of(probe, Device("GPU at " + a, folder, a), 1, spec["hardware_gpu_pcie_width"]) for a, folder in found.items()]
    judge_bandwidth(record, "hardware.pcie_bandwidth.gpus", window, events.bandwidths, gpus)


def _present_hcas(spec: Spec, probe: Probe) -> List[Device]:
    folders = {h["name"]: (h, "/sys/class/infiniband/{}/device".format(h["name"])) for h in spec["hardware_hcas"]}
    found = [(name, hca, folder, pcie.slot_of(probe, folder)) for name, (hca, folder) in folders.items()]
    return [Device(name, folder, address, hca["link_layer"] == "Ethernet") for name, hca, folder, address in found if address]


def _ports(spec: Spec, probe: Probe, hcas: Sequence[Device]) -> List[Device]:
    """Each declared port of the present HCAs."""
    present = {hca.name: hca for hca in hcas}
    rows = [row for row in spec["hardware_hcas"] if row["name"] in present]
    return [
        present[row["name"]]._replace(
            name=hca_ports.label(row),
            interface=None if hca_ports.number(row) == 1 else interface_of(probe, row["name"], hca_ports.number(row)),
            others=tuple(member.address for member in rdma_lag.members(probe, row["name"])) if hca_ports.number(row) == 1 else (),
        )
        for row in rows
    ]


def _window(hours: int, record: Record, probe: Probe, *checks: str) -> Optional[Window]:
    """The log that counts; None, with the reason recorded, if it cannot be read."""
    try:
        return Window(probe, hours)
    except (UnreadableLogError, ProbeError) as e:
        for check in checks:
            record.could_not_run(check, "the kernel log of this boot cannot be read: {}".format(e), Severity.CRITICAL)
        return None
