"""The inventory layers: checked before Ansible reads them."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from clusterctl.adapters.inventory.source_files import check_files
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_LAB = ("lab", "hosts")


def check_layers(layers: Sequence[Path]) -> tuple[str, ...]:
    """The layers as absolute paths; a list of hosts (`a,b`) stays as it is.

    Raises:
        ConfigError: there is no layer, or one is missing or cannot be read.
    """
    if not layers:
        raise ConfigError(
            detail="no inventory is given", hint="run in a folder with a clusterctl.yml (`clusterctl init DIR` writes one), or give -i PATH"
        )
    return tuple(_check(layer) for layer in layers)


def _check(layer: Path) -> str:
    if "," in layer.name and not layer.exists():
        return str(layer)
    if layer.parts[-2:] == _LAB and not (layer / "hosts.yml").exists():
        raise ConfigError(detail=f"inventory layer {layer} has no nodes: the lab is not up", hint="run `clusterctl lab up rack-12`")
    if not layer.exists():
        raise ConfigError(detail=f"inventory layer {layer} does not exist", hint="correct `inventory:` in clusterctl.yml, or -i")
    try:
        if layer.is_dir():
            next(layer.iterdir(), None)
        elif layer.is_file():
            layer.open("rb").close()
    except OSError as e:
        raise ConfigError(detail=f"inventory layer {layer}: {e.strerror}", hint="make it readable") from e
    check_files(layer)
    return os.path.normpath(layer.absolute())
