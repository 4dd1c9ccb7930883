"""`clusterctl events`: what happened, as CloudEvents, to the receivers of clusterctl.yml."""

from __future__ import annotations

import time

import rich_click as click

from clusterctl.commands.option_types import FiniteRange
from clusterctl.commands.options import load_config
from clusterctl.model.errors import ConfigError
from clusterctl.model.exit_codes import ExitCode

_PAUSE_S = FiniteRange(1, 3600)


@click.command("events")
@click.option("--replay", is_flag=True, help="First send the dead letters again.")
@click.option("--follow", is_flag=True, help="Go on until somebody ends it, as a service does.")
@click.option(
    "--every", "pause_s", type=_PAUSE_S, default=5.0, show_default=True, help="With --follow: seconds between two looks at the record."
)
@click.pass_context
def command(ctx: click.Context, *, replay: bool, follow: bool, pause_s: float) -> int:
    """Send what happened since the last call to the receivers of `events` in clusterctl.yml: states of nodes, ends of runs, the breaker, notices.

    The first call sends nothing: events count from then on. Exits with 4 if a receiver did not take an event; it is a dead letter then.
    """
    from clusterctl.adapters.event_spool import EventSpool  # noqa: PLC0415 `--help` must not pay for it
    from clusterctl.terminal.events import show_delivered  # noqa: PLC0415
    from clusterctl.workflows.send_events import send_events  # noqa: PLC0415

    config = load_config(ctx, gates=False)
    if not config.events.receivers:
        raise ConfigError(detail="clusterctl.yml declares no receiver of events", hint="see docs/how-to/events.md")
    letters = EventSpool(config.state_dir / "events").letters_file
    done = send_events(config, replay=replay)
    show_delivered(done, letters)
    while follow:
        time.sleep(pause_s)
        done = send_events(config)
        if done.sent or done.dead:
            show_delivered(done, letters)
    return int(ExitCode.UNREACHABLE if done.dead else ExitCode.OK)
