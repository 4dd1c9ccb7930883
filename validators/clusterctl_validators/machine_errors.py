"""PCIe errors (AER) and machine checks (MCE, EDAC, APEI) of the kernel log.

Formats: Linux, drivers/pci/pcie/aer.c and dpc.c, arch/x86/kernel/cpu/mce/core.c, drivers/edac/edac_mc.c and mce_amd.c, drivers/firmware/efi/cper.c.
"""

import re
from dataclasses import dataclass, replace
from typing import Dict, Iterator, List, Mapping, Match, Optional, Tuple

_ADDRESS = r"[0-9a-f]{4,}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7]"
_AER = re.compile(
    r"(?P<device>" + _ADDRESS + r"): (?:AER: )?"
    r"PCIe Bus Error: severity=(?P<severity>[A-Z][a-z]+(?: \([A-Za-z-]+\))?), type=(?P<detail>[^,]+)"
)
# The root port announces an error; nothing follows where the device could not be found or read, as that of a GPU that is lost from the bus.
_ANNOUNCED = re.compile(
    r"AER: (?:Multiple )?(?P<severity>Uncorrect(?:ed|able) \((?:Non-)?Fatal\)) error (?:message )?received(?: from|:) (?P<device>[0-9a-f:.]+)"
)
# A port that disabled its link to contain an error, in one line since Linux 6.16, in two before. The kernel logs no details of an error that the device
# below sent (ERR_FATAL, ERR_NONFATAL), because its link is down. "software trigger" is not an error.
_CONTAINED = re.compile(
    r"(?P<port>" + _ADDRESS + r"): DPC: (?:containment event, status:0x[0-9a-f]+[:,] )?"
    r"(?P<reason>ERR_(?:NON)?FATAL|unmasked uncorrectable error|RP PIO error|reserved error) (?:detected|received from (?P<device>"
    + _ADDRESS
    + "))"
)
_SOURCE = re.compile(r"(?P<port>" + _ADDRESS + r"): DPC: containment event, status:0x[0-9a-f]+ source:0x(?P<requester>[0-9a-f]{4})\b")
_MCE = re.compile(
    r"mce: \[Hardware Error\]: (?P<device>CPU \d+): Machine Check(?P<exception> Exception)?: \S+ (?P<detail>Bank \d+: (?P<status>[0-9a-f]+))"
)
_EDAC = re.compile(r"EDAC (?P<device>MC\d+): \d+ (?P<severity>[CU]E) (?P<detail>.+)")
_AMD = re.compile(r"\[Hardware Error\]: (?P<severity>Corrected error|Deferred error|Uncorrected)(?P<detail>,.*)")
# Numbered records are of this boot; the boot error record (BERT), which has no number, is of the one before.
_APEI = re.compile(r"\{\d+\}\[Hardware Error\]:\s+event severity: (?P<severity>corrected|recoverable|fatal)")
# Bit 61 of MCi_STATUS: the error was not corrected.
_UNCORRECTED_BIT = 1 << 61


@dataclass(frozen=True)
class MachineError:
    """One line.

    Attributes:
        device: PCI address, processor or memory controller, as logged; empty if the line names none.
        corrected: the hardware corrected it.
        fatal: the link or the machine does not survive it.
        before: the text of the line before the message, with its time.
    """

    device: str
    corrected: bool
    fatal: bool
    detail: str
    before: str


def aer_error(line: str) -> Optional[MachineError]:
    """The PCIe error of a line."""
    found = _AER.search(line)
    if not found:
        return None
    severity = found.group("severity")
    text = "{}, {}".format(severity, found.group("detail").strip())
    return MachineError(found.group("device"), severity.startswith("Correct"), "(Fatal)" in severity, text, line[: found.start()])


def _aer_errors(lines: List[str]) -> Iterator[MachineError]:
    """Errors with their details, and announced ones of which there are none."""
    waiting: Optional[MachineError] = None
    requesters: Dict[str, str] = {}
    for line in lines:
        source = _SOURCE.search(line)
        if source:
            requesters[source.group("port")] = _requester(source)
        announced, error = _announced(line, requesters), aer_error(line)
        if waiting and error and not error.corrected and _slot(error) == _slot(waiting):
            error = replace(error, fatal=error.fatal or waiting.fatal)
        elif waiting and (announced or error):
            yield waiting
        else:
            announced = announced or waiting
        waiting = announced
        if error:
            yield error
    if waiting:
        yield waiting


def _announced(line: str, requesters: Mapping[str, str]) -> Optional[MachineError]:
    """An error whose details may follow; `requesters`: the device that sent it, by the port that disabled its link."""
    found = _ANNOUNCED.search(line)
    if found:
        severity = found.group("severity")
        return MachineError(found.group("device").rstrip("."), False, "(Fatal)" in severity, severity, line[: found.start()])
    found = _CONTAINED.search(line)
    if not found:
        return None
    port, reason = found.group("port", "reason")
    sent = found.group("device") or requesters.get(port, port)
    device = sent if reason.startswith("ERR_") else port
    return MachineError(device, False, True, "link disabled (DPC): " + reason, line[: found.start()])


def _requester(found: Match[str]) -> str:
    """The address of a requester ID (8 bits of bus, 5 of device, 3 of function), which is in the domain of the port."""
    number = int(found.group("requester"), 16)
    return "{}:{:02x}:{:02x}.{}".format(found.group("port").split(":")[0], number >> 8, number >> 3 & 31, number & 7)


def _slot(error: MachineError) -> str:
    return error.device.partition(".")[0]


def machine_check(line: str) -> Optional[MachineError]:
    """The machine check of a line."""
    found = _MCE.search(line)
    if found:
        uncorrected = bool(found.group("exception") or int(found.group("status"), 16) & _UNCORRECTED_BIT)
        return MachineError(found.group("device"), not uncorrected, uncorrected, found.group("detail"), line[: found.start()])
    found = _EDAC.search(line)
    if found:
        return _named(found.group("device"), found.group("severity") == "CE", found.group("detail"), line[: found.start()])
    found = _AMD.search(line)
    if found:
        severity = found.group("severity")
        return _named("", severity == "Corrected error", severity + found.group("detail"), line[: found.start()])
    found = _APEI.search(line)
    if found:
        severity = found.group("severity")
        return _named("", severity == "corrected", "firmware reports a {} error".format(severity), line[: found.start()])
    return None


def _named(device: str, corrected: bool, detail: str, before: str) -> MachineError:
    return MachineError(device, corrected, not corrected, detail.strip(), before)


@dataclass(frozen=True)
class MachineErrors:
    """The PCIe errors and the machine checks of a log, in its order."""

    aer: Tuple[MachineError, ...]
    machine_checks: Tuple[MachineError, ...]


def parse(text: str) -> MachineErrors:
    """The errors of a log."""
    candidates = [
        line
        for line in text.splitlines()
        if "Bus Error" in line or "AER: " in line or "DPC: " in line or "Hardware Error" in line or "EDAC MC" in line
    ]
    return MachineErrors(tuple(_aer_errors(candidates)), tuple(e for e in map(machine_check, candidates) if e))
