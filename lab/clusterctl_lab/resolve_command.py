"""`clusterctl lab resolve`: do the packages of a profile install from the public repositories?"""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from clusterctl.adapters.inventory.declared_names import declared_names
from clusterctl.adapters.inventory.load import own_inventory_read_once
from clusterctl.commands import complete
from clusterctl.commands.options import extra_vars_option, inventory_option, load_config, output_option
from clusterctl.model.errors import ConfigError, PathError
from clusterctl.terminal import out
from clusterctl_lab import resolve_view as show
from clusterctl_lab.resolve_profiles import RELEASES, profile_names, resolve_profiles

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

Words = tuple[str, ...]


@complete.silent
def _profiles(ctx: click.Context, _param: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The profiles that the inventory declares."""
    groups = declared_names(complete.site(ctx).inventory)[0]
    return complete.matching(sorted(g for g in groups if g.startswith("profile_")), incomplete)


@click.command("resolve")
@click.argument("profiles", metavar="[PROFILE]...", nargs=-1, shell_complete=_profiles)
@click.option("--release", "releases", type=click.Choice(RELEASES), multiple=True, help="Release of Ubuntu or EL; repeat.  [default: all]")
@click.option("--out", "file", type=click.Path(dir_okay=False, path_type=Path), help="Also write the result as JSON.")
@inventory_option
@extra_vars_option
@output_option
@click.pass_context
def command(
    ctx: click.Context, *, profiles: Words, releases: Words, file: Path | None, inventory: Words, extra_vars: Words, output: str
) -> None:
    """Install the packages of each PROFILE (default: all) in simulation, with apt or dnf's solver, from facts about public repositories.

    Nothing is downloaded or installed. Exit status 3 if a set is refused; the output has the reason. A profile is for EL if it sets
    nvidia_driver_dnf_module, else for Ubuntu.
    """
    layers = load_config(ctx, inventory, gates=False).inventory
    names = [p.replace("-", "_") for p in profiles] or profile_names(layers)
    with own_inventory_read_once(layers):
        results = list(resolve_profiles(layers, names, releases or RELEASES, extra_vars))
    if not results:
        raise ConfigError(detail="none of these profiles is for these releases", hint="a profile for EL sets nvidia_driver_dnf_module")
    if file:
        _write(file, json.dumps(out.envelope("resolve", asdict(show.document(results))), indent=2) + "\n")
    show.show_resolutions(results, output)
    wrong = [r for r in results if r.reason]
    if wrong:
        raise ConfigError(
            detail=f"{len(wrong)} of {len(results)} sets of packages do not resolve",
            hint="correct the pins of the profile, or the facts of lab/clusterctl_lab/packages if the repositories have changed",
        )


def _write(file: Path, text: str) -> None:
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except OSError as e:
        raise PathError(path=file, detail=e.strerror, hint="name a file in a folder that this user may write to, with room for it") from e
