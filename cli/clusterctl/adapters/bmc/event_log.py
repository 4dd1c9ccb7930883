"""The event logs of a BMC: below the system (Supermicro, HPE's IML, OpenBMC), the manager (Dell's Sel and Lclog), or a chassis (NVIDIA's XIDs of each GPU)."""

from __future__ import annotations

import re
from itertools import islice
from typing import TYPE_CHECKING, Any

from clusterctl.model.bmc_report import LogEntry
from clusterctl_tools.redfish import Redfish, entries, last_segment, link, members

if TYPE_CHECKING:
    from collections.abc import Iterable

# Dumps and traces of OpenBMC; their entries are files, not events.
_NO_EVENTS = ("dump", "hostlogger", "journal", "postcode", "crashdump", "debugtoken")
# A Lifecycle log of Dell has thousands of entries, newest first.
_MOST_READ = 2000
# Severities of NVIDIA's CPERs to those of Redfish. A GH200 of NVIDIA/ncx-infra-controller-core (7f17b53) has the first two,
# openbmc/libcper (7c410e2, cper-utils.c) all four.
_CPER_SEVERITIES = {"Informational": "OK", "Corrected": "Warning", "Recoverable": "Critical", "Fatal": "Critical"}
_CHASSIS = re.compile(r"/Chassis/([^/]+)/")
_CONTENT = frozenset({"Created", "EventTimestamp", "Message", "MessageId", "Severity"})


def read_log(client: Redfish, owners: Iterable[dict[str, Any]], most: int) -> tuple[LogEntry, ...]:
    """The newest `most` entries of each log of these systems and managers, newest first.

    Raises:
        BmcError: a log cannot be read.
    """
    return newest_first(entry for path in log_services(client, owners) for entry in read_one_log(client, path, most))


def newest_first(found: Iterable[LogEntry]) -> tuple[LogEntry, ...]:
    """The entries of several logs."""
    return tuple(sorted(found, key=lambda e: e.created, reverse=True))


def without_copies(found: Iterable[LogEntry]) -> tuple[LogEntry, ...]:
    """Each event once: OpenBMC shows those of its SEL in the log EventLog, too, by the same number and time. Without a time, two may be different events."""
    kept: dict[tuple[str, ...], LogEntry] = {}
    for entry in found:
        kept.setdefault((entry.id, entry.created, entry.message, "" if entry.created else entry.log), entry)
    return tuple(kept.values())


def log_services(client: Redfish, owners: Iterable[dict[str, Any]]) -> list[str]:
    """The paths of the logs of these systems, managers and chassis that have events.

    Raises:
        BmcError: a list of logs cannot be read, or does not exist although it is linked.
    """
    paths = dict.fromkeys(path for owner in owners for path in members(client.linked, link(owner, "LogServices")))
    return [p for p in paths if not any(word in last_segment(p).lower() for word in _NO_EVENTS)]


def read_one_log(client: Redfish, path: str, most: int) -> list[LogEntry]:
    """The newest `most` entries of the log at `path`, newest first.

    Raises:
        BmcError: it cannot be read, or does not exist.
    """
    service = client.linked(path)
    listed = list(islice(entries(client.linked, link(service, "Entries")), _MOST_READ))
    whole = [m for m in listed if _CONTENT & m.keys()]
    if not whole:
        # Links only (HPE), oldest or newest first: the newest are at one of the ends.
        ends = listed if len(listed) <= 2 * most else [*listed[:most], *listed[-most:]]
        whole = [client.get(str(m["@odata.id"])) for m in ends if m.get("@odata.id")]
    found = [log_entry(_name(path, service), e) for e in whole if e]
    return list(newest_first(found))[:most]


def log_entry(log: str, entry: dict[str, Any]) -> LogEntry:
    """From the resource of an entry."""
    text = entry.get("Message") or entry.get("MessageId") or entry.get("EntryCode") or entry.get("Name") or ""
    cper, severity = _cper(entry)
    return LogEntry(
        log=log,
        id=str(entry.get("Id") or ""),
        created=str(entry.get("Created") or entry.get("EventTimestamp") or ""),
        severity=str(entry.get("Severity") or severity),
        message=": ".join(t for t in (str(text), cper) if t),
    )


def _name(path: str, service: dict[str, Any]) -> str:
    """Of a log: a chassis is named with it, because each GPU has a log XID."""
    name, place = str(service.get("Id") or path), _CHASSIS.search(path)
    return f"{place[1]}/{name}" if place else name


def _cper(entry: dict[str, Any]) -> tuple[str, str]:
    """What and how severe the error record is that an entry stands for (UEFI, Common Platform Error Record); both empty if it is none."""
    record = entry.get("CPER") or {}
    own = (record.get("Oem") or {}).get("Nvidia") or {}
    severity = next((str(s) for s in (own.get("NvSeverity"), own.get("Severity")) if s and s != "None"), "")
    words = ("CPER", own.get("NvIpSignature") or record.get("SectionType"), severity)
    return (" ".join(str(w) for w in words if w), _CPER_SEVERITIES.get(severity, "")) if record else ("", "")
