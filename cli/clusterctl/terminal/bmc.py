"""The reports of BMCs: a page per node, or the document `bmc`."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING

from clusterctl.model.bmc_report import BmcSection
from clusterctl.model.documents import BmcDocument, ReadBmc, UnreadBmc
from clusterctl.terminal import out
from clusterctl.terminal.safe_text import printable

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from clusterctl.model.bmc_report import BmcReport, Sensor

_IPMI, _HTTP = "IPMI", "HTTP"
_CHANGES = {True: "refused", False: "accepted: its roles are not enforced", None: "refused, which shows no roles"}
_ANSWERS = {True: "answered: anybody on its network can read it", False: "refused", None: "unknown"}


def show_bmcs(reports: Sequence[BmcReport], sections: Collection[BmcSection], output: str) -> None:
    """Print it."""
    if output != "table":
        out.emit(output, "bmc", asdict(BmcDocument(tuple(_document(r) for r in reports))))
        return
    for number, report in enumerate(reports):
        if number:
            out.print_text("")
        _page(report, sections)


def _page(r: BmcReport, sections: Collection[BmcSection]) -> None:
    if r.problem:
        out.print_text(f"{r.node}: its BMC cannot be read: {printable(r.problem)}")
        return
    versions = ", ".join(f"{name} {version}" for name, version in r.bmc_versions)
    machine = " ".join(w for w in (r.manufacturer, r.model) if w) or "unknown machine"
    out.print_text(
        f"{r.node}: {r.power}; {printable(machine)}, serial {printable(r.serial) or 'none'}, BIOS {printable(r.bios_version) or 'unknown'}"
    )
    out.print_text(f"  firmware: {printable(versions) or 'unknown'}")
    out.print_text(f"  TLS certificate: {'verified' if r.verified else 'not verified (bios_verify_certificates)'}")
    for section, why in r.missing:
        out.print_text(f"  {section.value}: cannot be read: {printable(why)}")
    if BmcSection.PROTOCOLS in sections:
        out.print_text(f"  IPMI over LAN: {_yes_no(r.any_enabled(_IPMI))}; HTTP without TLS: {_yes_no(r.any_enabled(_HTTP))}")
        out.print_text(f"  Redfish without an account: {_ANSWERS[r.answers_without_account]}")
        _table(("BMC", "PROTOCOL", "ENABLED", "PORT"), [(p.manager, p.name, _yes_no(p.enabled), str(p.port or "-")) for p in r.protocols])
    if r.accounts is not None:
        logged = r.accounts.logged
        answers = "; bmc_user: ".join(filter(None, (r.accounts.answer, r.accounts.privileged_answer)))
        out.print_text(
            f"  change with {printable(r.accounts.user)}, which may only read: {_CHANGES[r.accounts.refused]} ({printable(answers)})"
        )
        out.print_text(f"  its logs name the account: {printable(f'{logged.log} {logged.id}: {logged.message}') if logged else 'no'}")
    if BmcSection.CONSOLE in sections:
        rows = [(c.place, c.kind, _yes_no(c.enabled), c.detail) for c in r.consoles]
        _table(("AT", "CONSOLE", "ENABLED", "DETAIL"), rows, "  no serial console")
    if BmcSection.SENSORS in sections:
        _table(("CHASSIS", "SENSOR", "KIND", "READING", "HEALTH"), [_sensor_row(s) for s in r.sensors], "  no sensors")
    if BmcSection.LOG in sections:
        entries = [(e.created or "-", e.severity or "-", e.log, e.id, e.message) for e in r.log]
        _table(("CREATED", "SEVERITY", "LOG", "ID", "MESSAGE"), entries, "  no entries in its logs")


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], empty: str = "") -> None:
    if rows:
        out.print_text("")
        out.table(columns, [tuple(printable(cell) for cell in row) for row in rows])
    elif empty:
        out.print_text(empty)


def _sensor_row(s: Sensor) -> tuple[str, ...]:
    reading = "-" if s.reading is None else f"{s.reading:g} {s.unit}".rstrip()
    return s.chassis, s.name, s.kind, reading, s.health or "-"


def _yes_no(enabled: bool | None) -> str:
    return {True: "on", False: "off", None: "unknown"}[enabled]


def _document(r: BmcReport) -> ReadBmc | UnreadBmc:
    if r.problem:
        return UnreadBmc(r.node, r.problem)
    return ReadBmc(
        name=r.node,
        problem="",
        power=r.power,
        manufacturer=r.manufacturer,
        model=r.model,
        serial=r.serial,
        bios_version=r.bios_version,
        bmc_versions=dict(r.bmc_versions),
        tls_verified=r.verified,
        ipmi_over_lan=r.any_enabled(_IPMI),
        http_without_tls=r.any_enabled(_HTTP),
        redfish_without_account=r.answers_without_account,
        serial_console=any(c.enabled for c in r.consoles) if r.consoles else None,
        protocols=r.protocols,
        consoles=r.consoles,
        sensors=r.sensors,
        log=r.log,
        accounts=r.accounts,
        missing={s.value: "; ".join(why for of, why in r.missing if of is s) for s, _ in r.missing},
    )
