"""The digest of all that decides what a run does to a node: versions, roles, playbooks, validators, gates of the site, and its inventory."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import TYPE_CHECKING

import clusterctl_validators
from clusterctl.adapters.ansible.content import PLUGINS, content_dir
from clusterctl.adapters.file_tree import files_below
from clusterctl.adapters.site_content import site_content
from clusterctl.adapters.versions import versions

if TYPE_CHECKING:
    from collections.abc import Iterator

    from clusterctl.adapters.config import Config


def content_digest(config: Config) -> str:
    """Hexadecimal SHA-256. Equal on two machines where they hold the same files, wherever these lie.

    What a dynamic inventory returns is not part of it, its source file is; nor are passwords of vaults, only the encrypted files.
    """
    found = hashlib.sha256()
    for name, version in sorted(versions().items()):
        if name != "python":  # a run does the same on each that clusterctl supports
            found.update(f"{name} {version}\n".encode())
    for title, folder in _parts(config):
        for path, data in sorted(_files(folder)):
            found.update(f"{title}/{path} {hashlib.sha256(data).hexdigest()}\n".encode())
    return found.hexdigest()


def _parts(config: Config) -> Iterator[tuple[str, Path]]:
    root = content_dir()
    yield from (("roles", root / "roles"), ("playbooks", root / "playbooks"), ("plugins", root / PLUGINS))
    own = next(iter(clusterctl_validators.__path__))
    yield "validators", Path(own)
    for number, folder in enumerate(site_content().folders):
        yield from ((f"site {number} {name}", folder / name) for name in ("roles", "validators", "playbooks"))
    yield "site plugins", config.plugins
    yield from ((f"inventory {number}", layer) for number, layer in enumerate(config.inventory))


def _files(folder: Path) -> Iterator[tuple[str, bytes]]:
    if folder.is_file():
        yield folder.name, folder.read_bytes()
    elif folder.is_dir():
        yield from files_below(folder)
