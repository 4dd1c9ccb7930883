"""`clusterctl lab resolve`: do the packages of a profile install from the public repositories?"""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.inventory.load import list_hosts, load_profile
from clusterctl.commands.options import extra_vars_option, inventory_option, output_option
from clusterctl.model.errors import ConfigError
from clusterctl.terminal import out
from clusterctl_lab import resolve_view as show
from clusterctl_lab.apt_root import AptRoot
from clusterctl_lab.declared_packages import declared_packages
from clusterctl_lab.package_facts import package_facts
from clusterctl_lab.resolve import Resolution, resolve, role_order

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

RELEASES = ("22.04", "24.04")
Words = tuple[str, ...]


@click.command("resolve")
@click.argument("profiles", metavar="[PROFILE]...", nargs=-1)
@click.option("--release", "releases", type=click.Choice(RELEASES), multiple=True, help="Ubuntu release; repeat.  [default: all]")
@click.option("--out", "file", type=click.Path(dir_okay=False, path_type=Path), help="Also write the result as JSON.")
@inventory_option
@extra_vars_option
@output_option
def command(*, profiles: Words, releases: Words, file: Path | None, inventory: Words, extra_vars: Words, output: str) -> None:
    """Install the packages of each PROFILE (default: all) in simulation, with apt, from metadata made of the facts about public repositories.

    Nothing is downloaded or installed. Exit status 3 if apt refuses a set; the output has its reason.
    """
    layers = tuple(map(Path, inventory)) or (content_dir() / "inventory" / "common",)
    names = [p.replace("-", "_") for p in profiles] or _profiles(layers)
    results = list(_resolve_all(layers, names, releases or RELEASES, extra_vars))
    if file:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(json.dumps(out.envelope("resolve", show.document(results)), indent=2) + "\n", encoding="utf-8")
    show.show_resolutions(results, output)
    wrong = [r for r in results if r.reason]
    if wrong:
        raise ConfigError(
            detail=f"{len(wrong)} of {len(results)} sets of packages do not resolve",
            hint="correct the pins of the profile, or the facts of lab/clusterctl_lab/packages if the repositories have changed",
        )


def _profiles(layers: Sequence[Path]) -> list[str]:
    """Profiles for nodes: those that no other profile completes."""
    topology = list_hosts(layers)
    found = [g for g in topology.groups if g.startswith("profile_")]
    return sorted(g for g in found if not any(c.startswith("profile_") for c in topology.children.get(g, ())))


def _resolve_all(layers: Sequence[Path], profiles: Sequence[str], releases: Sequence[str], extra_vars: Words) -> Iterator[Resolution]:
    order = role_order(content_dir() / "playbooks" / "provision.yml")
    for release in releases:
        with tempfile.TemporaryDirectory(prefix="clusterctl-resolve-") as folder:
            apt = AptRoot(Path(folder), package_facts(), release)
            for profile in profiles:
                spec = load_profile(layers, profile, extra_vars=(*extra_vars, f"ubuntu_release={release}"))
                yield resolve(apt, profile, release, declared_packages(spec, order, content_dir() / "roles"))
