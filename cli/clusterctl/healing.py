"""Healing drift: the way of `clusterctl provision`, one node first. Only `clusterctl drift --heal` comes here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.drifting import without
from clusterctl.exit_codes import ExitCode, worst
from clusterctl.lifecycle import State
from clusterctl.provisioning import start
from clusterctl.provisioning.model import Options
from clusterctl.rundir import RunDir
from clusterctl.store import Store

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.config import Config
    from clusterctl.drift.model import Report
    from clusterctl.drifting import Watched
    from clusterctl.provisioning.model import Result
    from clusterctl.store.records import NodeRecord

# enough to tell a bad node from a bad partner
_PARTNERS = 2


def heal(
    names: Sequence[str], partners: Sequence[str], provision: Callable[[Sequence[str], Sequence[str]], Result]
) -> tuple[tuple[str, ...], list[dict[str, str]], ExitCode]:
    """Heal the first node; only where it is admitted again, the others. Gives the nodes healed, what was done, and the worst exit code."""
    if not names:
        return (), [], ExitCode.OK
    canary, rest = names[:1], names[1:]
    healed, actions, code = _one_round(canary, provision(canary, partners))
    if code is not ExitCode.OK:
        why = f"the canary {canary[0]} did not come through"
        return healed, [*actions, *({"node": n, "action": "left", "detail": why} for n in rest)], code
    if rest:
        more, done, code = _one_round(rest, provision(rest, partners or canary))
        return (*healed, *more), [*actions, *done], code
    return healed, actions, code


def partners_of(report: Report, records: Mapping[str, NodeRecord]) -> tuple[str, ...]:
    """Admitted nodes of which nothing bad is known, to measure against."""
    bad = {d.node for d in report.deviations} | {x.node for x in report.lost}
    return tuple(n for n in report.nodes if n not in bad and records[n].state is State.ADMITTED)[:_PARTNERS]


def provisioner(config: Config, vault_ids: tuple[str, ...], audience: start.Audience) -> Callable[[Sequence[str], Sequence[str]], Result]:
    """`provision` over named nodes, with the site's own burn-in: whoever is healed is proven as whoever is new."""

    def provision(names: Sequence[str], partners: Sequence[str]) -> Result:
        request = start.Request(",".join(names), Options(partners=tuple(partners)), vault_ids=vault_ids)
        return start.run(config, request, audience)

    return provision


def after(watched: Watched, config: Config, vault_ids: tuple[str, ...]) -> ExitCode:
    """Heal what a drift run decided to; the actions join its document. The exit code of the healing and of what it left."""
    from clusterctl.content import content_dir  # noqa: PLC0415
    from clusterctl.render import live  # noqa: PLC0415 rich, only where somebody watches

    with Store.open(config.store_url) as store:
        records = {r.name: r for r in store.nodes(watched.report.nodes)}
    with live.view(live.task_counts(content_dir() / "roles")) as view:
        audience = start.Audience(view, view.output, lambda _plan: True)
        run = provisioner(config, vault_ids, audience)
        healed, actions, code = heal(watched.decisions.heal, partners_of(watched.report, records), run)
    watched.body["actions"] += actions
    RunDir.open(watched.directory).write_json("drift.json", watched.body)
    return worst([code, without(watched.report, healed).exit_code])


def _one_round(names: Sequence[str], result: Result) -> tuple[tuple[str, ...], list[dict[str, str]], ExitCode]:
    admitted = tuple(n.node for n in result.nodes if n.state is State.ADMITTED and n.exit_code is ExitCode.OK)
    actions = [
        {
            "node": n.node,
            "action": "healed" if n.node in admitted else "not healed",
            "detail": n.reason or f"{n.state.value} in run {result.run_id}",
        }
        for n in result.nodes
    ]
    missing = [ExitCode.UNEXPECTED] if set(names) - {n.node for n in result.nodes} else []
    return admitted, actions, worst([*missing, result.exit_code])
