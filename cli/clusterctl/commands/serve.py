"""`clusterctl serve`: the record in a browser and over a JSON API."""

from __future__ import annotations

import signal
from pathlib import Path

import rich_click as click
from click.core import ParameterSource

from clusterctl.commands.options import load_config
from clusterctl.model.errors import ConfigError, ExtraMissingError, InterruptedRunError, UsageProblemError

_FILE = click.Path(dir_okay=False, path_type=Path)


@click.command("serve")
@click.option("--bind", default="127.0.0.1", show_default=True, metavar="ADDRESS", help="Address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8787, show_default=True, help="Port to listen on.")
@click.option("--unix", type=_FILE, metavar="PATH", help="Listen on a Unix socket instead, for this user and its group.")
@click.option("--token-file", type=_FILE, metavar="FILE", help="Require the token in this file: a bearer token, or a browser's password.")
@click.option("--trust-header", default="", metavar="NAME", help="Let in whom a reverse proxy names in this header.")
@click.option("--proxy", "proxies", multiple=True, metavar="ADDRESS", help="Address or network of that proxy; repeat.  [default: loopback]")
@click.pass_context
def command(
    ctx: click.Context, bind: str, port: int, *, unix: Path | None, token_file: Path | None, trust_header: str, proxies: tuple[str, ...]
) -> None:
    """Show fleet, racks, nodes and runs in a browser, and the same as JSON (`/openapi.json`). It only reads.

    Whoever can reach an address other than loopback could read everything: there, --token-file or --trust-header with --proxy is needed.
    Ctrl-C and SIGTERM end it.
    """
    try:
        from clusterctl.serve.access import access_of  # noqa: PLC0415 `--help` must not pay for it
        from clusterctl.serve.server import listen, listen_unix, serve_until_stopped  # noqa: PLC0415
    except ModuleNotFoundError as e:
        if e.name not in {"starlette", "uvicorn"}:
            raise
        raise ExtraMissingError(package=e.name, extra="serve") from e
    from clusterctl.adapters.store import Store  # noqa: PLC0415
    from clusterctl.terminal import messages  # noqa: PLC0415
    from clusterctl.workflows.browse import Browser  # noqa: PLC0415

    given = {name for name in ("bind", "port") if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}
    if unix and given:
        raise UsageProblemError(detail=f"--unix and --{min(given)}", hint="leave one of them out")
    access = access_of(address="" if unix else bind, token=_token(token_file), header=trust_header, proxies=proxies)
    url = load_config(ctx, gates=False).store_url
    Store.open_to_read(url).close()  # a database that cannot be read is an error now, not at the first request
    listening = listen_unix(unix) if unix else listen(bind, port)
    where = f"unix:{unix}" if unix else f"http://{f'[{bind}]' if ':' in bind else bind}:{port}/"
    started = f"serving {where} (only reading); Ctrl-C ends it"
    if serve_until_stopped(Browser(url), access, listening, lambda: messages.note(started)) is signal.SIGINT:
        raise InterruptedRunError(detail="Ctrl-C", hint="")


def _token(file: Path | None) -> str | None:
    from clusterctl.adapters.given_file import read_given_text  # noqa: PLC0415

    if file is None:
        return None
    try:
        return read_given_text(file).strip()
    except (OSError, UnicodeDecodeError) as e:
        detail = (e.strerror or str(e)) if isinstance(e, OSError) else "it is not text"
        raise ConfigError(detail=f"--token-file {file}: {detail}", hint="name a file that this user can read, with the token in it") from e
