"""`clusterctl announce`: notices of planned maintenance."""

from __future__ import annotations

import rich_click as click

from clusterctl.commands import complete
from clusterctl.commands.moment_type import MOMENT
from clusterctl.commands.option_types import SENTENCE
from clusterctl.commands.options import load_config, output_option
from clusterctl.model.errors import UsageProblemError

# form -> options that it needs, and those that it takes, too
_FORMS = {
    "target": (("begins", "ends", "reason"), ()),
    "move": ((), ("begins", "ends", "reason")),
    "cancel": (("reason",), ()),
    "": ((), ("all",)),
}
_HINT = "`announce TARGET --begins TIME --ends TIME --reason WHY`, `--move ID --begins TIME --ends TIME`, `--cancel ID --reason WHY`, or nothing: a list"


@click.command("announce")
@click.argument("target", required=False, shell_complete=complete.targets)
@click.option("--begins", type=MOMENT, metavar="TIME", help="When the work begins, with its offset: 2026-12-01T22:00+01:00.")
@click.option("--ends", type=MOMENT, metavar="TIME", help="When it has ended.")
@click.option("--reason", type=SENTENCE, metavar="TEXT", help="What will be done; with --cancel: why it is called off.")
@click.option("--move", type=click.IntRange(1, 2**31 - 1), metavar="ID", help="Give a notice another time; what is not given stays.")
@click.option("--cancel", type=click.IntRange(1, 2**31 - 1), metavar="ID", help="Call a notice off that has not begun.")
@click.option("--all", is_flag=True, help="List those that are over or cancelled, too.")
@output_option
@click.pass_context
def command(ctx: click.Context, /, output: str, **given: object) -> None:
    """Announce planned maintenance of TARGET to the receivers of `events`: a notice. Without TARGET: list the notices that are not over.

    A notice takes no node out, and keeps none from being taken out: when the work begins, `drain --to maintenance` does. Two notices of one
    node cannot overlap. Of a notice that has begun, only the end moves.
    """
    from clusterctl.adapters.store import Store  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.terminal import notices as view  # noqa: PLC0415
    from clusterctl.workflows.announce import announce_target  # noqa: PLC0415

    form = _form({name for name, value in given.items() if value})
    config = load_config(ctx, gates=False)
    who, begins, ends, why = config.operator, *(str(given[name] or "") for name in ("begins", "ends", "reason"))
    if not form:
        with Store.open_to_read(config.store_url) as store:
            view.show_notices(store.notices() if given["all"] else store.open_notices(), output)
        return
    with Store.open(config.store_url) as store:
        if form == "target":
            notice = announce_target(store, str(given["target"]), begins, ends, operator=who, reason=why)
        elif form == "move":
            notice = store.move_notice(int(str(given["move"])), begins, ends, operator=who, reason=why)
        else:
            notice = store.cancel_notice(int(str(given["cancel"])), operator=who, reason=why)
    view.show_changed(notice, output, config.limits.windows, has_receivers=bool(config.events.receivers))


def _form(given: set[str]) -> str:
    """The form of the command line.

    Raises:
        UsageProblemError: it is none.
    """
    form = next((f for f in _FORMS if f in given), "")
    needed, taken = _FORMS[form]
    shown = "TARGET" if form == "target" else f"--{form}"
    for name in sorted(given - {form, *needed, *taken}):
        if not form:
            raise UsageProblemError(detail=f"--{name} needs TARGET, --move or --cancel", hint=_HINT)
        raise UsageProblemError(detail=f"{shown} cannot be combined with --{name}", hint=_HINT)
    missing = [n for n in needed if n not in given] or (["begins or --ends"] if form == "move" and not given & {"begins", "ends"} else [])
    for name in missing:
        raise UsageProblemError(detail=f"{shown} needs --{name}", hint=_HINT)
    return form
