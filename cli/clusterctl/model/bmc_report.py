"""What the BMC of a node reports: its log, sensors, protocols and consoles."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class BmcSection(StrEnum):
    """The parts of a report; each costs requests of its own. All but `accounts`, which tries a change, only read."""

    LOG = "log"
    SENSORS = "sensors"
    PROTOCOLS = "protocols"
    CONSOLE = "console"
    ACCOUNTS = "accounts"


@dataclass(frozen=True, slots=True)
class LogEntry:
    """One entry. `severity` is OK, Warning or Critical, empty where the BMC does not state it (Supermicro X10); `created` is as the BMC wrote it, empty where its clock was not set."""

    log: str
    id: str
    created: str
    severity: str
    message: str


@dataclass(frozen=True, slots=True)
class Sensor:
    """One reading. `kind` is temperature, fan, power, voltage ...; `health` is OK, Warning, Critical or empty; `reading` None = not read."""

    chassis: str
    name: str
    kind: str
    reading: float | None
    unit: str
    health: str


@dataclass(frozen=True, slots=True)
class Protocol:
    """One service of a BMC on the network. `enabled` None = it does not report it."""

    manager: str
    name: str
    enabled: bool | None
    port: int | None = None


@dataclass(frozen=True, slots=True)
class Console:
    """One way to the serial console of the host: SSH, IPMI, Telnet or the serial port itself; `detail`: port, speed, command."""

    place: str
    kind: str
    enabled: bool
    detail: str = ""


@dataclass(frozen=True, slots=True)
class AccountCheck:
    """The result of an attempted change with a read-only account.

    Attributes:
        user: that account.
        refused: whether the BMC refused it for lack of privilege and let `bmc_user` through; None for other refusals, which show no roles.
        answer: what the BMC answered.
        privileged_answer: what it answered to the same change by `bmc_user`; empty where that was not tried.
        logged: the entry that its logs have of the account since then; None if there is none.
    """

    user: str
    refused: bool | None
    answer: str
    privileged_answer: str = ""
    logged: LogEntry | None = None


@dataclass(frozen=True, slots=True)
class BmcReport:
    """The report of one node.

    Attributes:
        problem: why it could not be read; then everything else is empty.
        verified: whether the certificate of its TLS connection was verified.
        answers_without_account: whether Redfish lists its systems to requests without an account; None if it is not known.
        accounts: whether it enforces the roles of its accounts and logs their use; None if that was not tried.
        missing: sections, or parts of them, that could not be read, with the reason.
    """

    node: str
    problem: str = ""
    verified: bool = False
    power: str = ""
    manufacturer: str = ""
    model: str = ""
    serial: str = ""
    bios_version: str = ""
    bmc_versions: tuple[tuple[str, str], ...] = ()
    log: tuple[LogEntry, ...] = ()
    sensors: tuple[Sensor, ...] = ()
    protocols: tuple[Protocol, ...] = ()
    answers_without_account: bool | None = None
    consoles: tuple[Console, ...] = ()
    accounts: AccountCheck | None = None
    missing: tuple[tuple[BmcSection, str], ...] = ()

    def any_enabled(self, name: str) -> bool | None:
        """Whether a protocol is enabled on any of its BMCs; None if none reports it, or if one that could not be read may have it enabled."""
        reported = [p.enabled for p in self.protocols if p.name == name and p.enabled is not None]
        if any(reported):
            return True
        unread = any(section is BmcSection.PROTOCOLS for section, _ in self.missing)
        return False if reported and not unread else None
