"""What the shell offers for targets, runs, gates and roles. Nothing here contacts a node, runs Ansible or imports SQLAlchemy."""

from __future__ import annotations

from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING

from click.shell_completion import CompletionItem

from clusterctl.adapters.config import read_config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    from clusterctl.adapters.config import Config

    Completer = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]

_FEW_NODES = 100


def silent(completer: Completer) -> Completer:
    """Offer nothing where something is wrong: a message would be written into the line that is being typed. The command itself reports it."""

    @wraps(completer)
    def offer(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
        try:
            return completer(ctx, param, incomplete)
        except Exception:  # noqa: BLE001 whatever it is, the command that is being typed reports it
            return []

    return offer


def matching(names: Iterable[str], incomplete: str) -> list[CompletionItem]:
    """The names that go on from the last word of a comma-separated list; `-` and `_` are equal, and stay as typed."""
    before, comma, word = incomplete.rpartition(",")
    found: dict[str, str] = {}
    for name in names:
        if _form(name).startswith(_form(word)):
            found.setdefault(_form(name), word + name[len(word) :])
    return [CompletionItem(before + comma + name) for name in found.values()]


def _form(name: str) -> str:
    return name.lower().replace("-", "_")


def site(ctx: click.Context) -> Config:
    """The configuration under the options typed so far."""
    state_dir = ctx.find_root().params.get("state_dir")
    return read_config(tuple(ctx.params.get("inventory") or ()), state_dir)


@silent
def targets(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Recorded racks, groups and nodes; for verbs that read the inventory, what it declares as well. Many nodes only once a letter is typed."""
    from clusterctl.adapters.inventory.declared_names import declared_names  # noqa: PLC0415 other completions do without
    from clusterctl.adapters.store.sqlite_reader import recorded_names  # noqa: PLC0415

    config = site(ctx)
    groups, nodes = recorded_names(config.store_url)
    if any(p.name == "inventory" for p in ctx.command.params):
        more = declared_names(config.inventory)
        groups, nodes = groups | more[0], nodes | more[1]
    word = incomplete.rpartition(",")[2]
    return matching(["all", *sorted(groups), *(sorted(nodes) if word or len(nodes) <= _FEW_NODES else ())], incomplete)


@silent
def nodes(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Recorded nodes."""
    from clusterctl.adapters.store.sqlite_reader import recorded_names  # noqa: PLC0415

    return matching(sorted(recorded_names(site(ctx).store_url)[1]), incomplete)


@silent
def runs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """`last`, and the runs that have a directory, newest first; for `--resume` only those that provisioned."""
    from clusterctl.adapters.run_directory import run_ids  # noqa: PLC0415

    wanted = "-provision-" if param.name == "resume" else "-"
    return matching(["last", *(r for r in run_ids(site(ctx).state_dir) if wanted in r)], incomplete)


@silent
def gates(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The gates of clusterctl and of the site."""
    from clusterctl.adapters.site_gates import load_site_gates  # noqa: PLC0415
    from clusterctl.core.gates.registry import gate_names  # noqa: PLC0415

    config = site(ctx)
    load_site_gates(config.gates, config.plugins)
    return matching(gate_names(), incomplete)


@silent
def tools(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The tools that `parse` reads."""
    from clusterctl.core.parsers import TOOLS  # noqa: PLC0415 other completions do without

    return matching(TOOLS, incomplete)


def files(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files, which the shell lists itself."""
    return [CompletionItem(incomplete, type="file")]


@silent
def files_behind_at(_ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """Files behind a label (`prod@FILE`, `@FILE`), which no shell lists; without `@`, the shell's own."""
    label, at, path = incomplete.rpartition("@")
    if not at:
        return files(_ctx, _param, incomplete)
    typed = Path(path)
    folder, start = (typed, "") if not path or path.endswith("/") else (typed.parent, typed.name)
    before = label + at + path.removesuffix(start)
    found = sorted(p for p in folder.expanduser().iterdir() if p.name.startswith(start))
    return [CompletionItem(before + p.name + "/" * p.is_dir()) for p in found]


@silent
def roles(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The roles of clusterctl, of the site and of installed packages."""
    from clusterctl.adapters.site_content import is_role, role_dirs  # noqa: PLC0415

    site(ctx)  # a broken configuration offers nothing
    return matching(sorted({r.name for folder in role_dirs() for r in folder.iterdir() if is_role(r)}), incomplete)
