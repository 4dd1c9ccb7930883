"""Gates of a site: from installed packages (entry points) and from its own modules."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING

from clusterctl.adapters.site_content import make_importable, site_content
from clusterctl.adapters.site_module import import_site_module
from clusterctl.core.gates.registry import register
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

GROUP = "clusterctl.gates"


def load_site_gates(modules: Sequence[str], folder: Path | None) -> None:
    """Register the gates of all installed packages and of `modules`, and find the GPU vendors of the site; a second call changes nothing.

    An entry point names a gate (`fans = "mysite.gates:FANS"`). A module, from `folder` or installed, has a list or tuple `GATES`.

    Raises:
        ConfigError: a module or gate cannot be imported, is not a gate, or has the name of another gate.
    """
    make_importable(site_content().validator_dirs)
    for entry in entry_points(group=GROUP):
        register(_loaded(entry))
    for name in modules:
        module = import_site_module(name, folder)
        gates = getattr(module, "GATES", None)
        if not isinstance(gates, list | tuple):
            raise ConfigError(detail=f"module {name!r} has no list GATES", hint=f"write GATES = [MyGate()] in {module.__file__}")
        for gate in gates:
            register(gate)


def _loaded(entry: EntryPoint) -> object:
    try:
        gate: object = entry.load()
    except (ImportError, AttributeError, SyntaxError) as e:
        raise ConfigError(detail=f"gate {entry.name!r} does not load: {e}", hint=f"reinstall the package of {entry.value}") from e
    return gate
