"""Finds the pool backend that a site declares, and checks its settings."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from clusterctl.adapters.config import invalid_key
from clusterctl.adapters.pools.settings import PoolSettings
from clusterctl.adapters.site_module import import_site_module
from clusterctl.core.near_match import did_you_mean
from clusterctl.core.schema_errors import schema_error
from clusterctl.model.errors import ConfigError, PoolError

if TYPE_CHECKING:
    from clusterctl.adapters.config import PoolDeclaration
    from clusterctl.adapters.pools.base import Pool
    from clusterctl.adapters.store.store import Store

GROUP = "clusterctl.pools"
_METHODS = ("create", "admit", "remove", "members", "removed_since")
# of `Vacating`: with one of them alone, jobs would be waited for and then killed, or seen and not waited for
_OF_VACATING = ("busy", "vacate")


def load_pool(declared: PoolDeclaration, store: Store) -> Pool:
    """The declared pool, ready for use.

    Raises:
        ConfigError, PoolError: as `check_pool`.
        PoolError: its scheduler cannot be reached.
    """
    backend, settings = check_pool(declared)
    return backend.create(store, settings)


def check_pool(declared: PoolDeclaration) -> tuple[type[Pool], PoolSettings]:
    """The class of the declared pool and its settings; nothing is contacted.

    Raises:
        PoolError: no installed package and no module of the site offers it, or what is offered is not a pool.
        ConfigError: a setting is unknown, missing or of the wrong type; all of them are named.
    """
    backend = _backend(declared)
    wanted = (*_METHODS, *(_OF_VACATING if any(hasattr(backend, name) for name in _OF_VACATING) else ()))
    missing = [name for name in wanted if not callable(getattr(backend, name, None))]
    model = getattr(backend, "settings_model", None)
    if missing or not (isinstance(model, type) and issubclass(model, PoolSettings)):
        lacks = ", no ".join(missing) or "settings_model, a class derived from PoolSettings"
        raise PoolError(
            detail=f"pool {declared.kind!r}: {backend!r} is not a pool class: it has no {lacks}",
            hint="docs/how-to/own-role-validator-gate-pool.md shows a complete one",
        )
    try:
        return backend, model.model_validate(declared.settings)
    except ValidationError as e:
        raise _invalid_settings(declared, model, e) from e


def _backend(declared: PoolDeclaration) -> type[Pool]:
    module, colon, attribute = declared.kind.partition(":")
    if colon:
        return _attribute(declared.kind, import_site_module(module, declared.plugins), attribute)
    offered = {e.name: e for e in entry_points(group=GROUP)}
    if declared.kind not in offered:
        known = ", ".join(sorted(offered)) or "none: is clusterctl installed?"
        raise PoolError(
            detail=f"no pool backend is called {declared.kind!r}{did_you_mean(declared.kind, offered)}",
            hint=f"set `pool:` in clusterctl.yml to one of: {known}; or install the package that offers {declared.kind!r}",
        )
    entry = offered[declared.kind]
    try:
        backend: type[Pool] = entry.load()
    except (ImportError, AttributeError, SyntaxError) as e:
        raise PoolError(detail=f"pool backend {declared.kind!r} does not load: {e}", hint=f"reinstall the package of {entry.value}") from e
    return backend


def _attribute(kind: str, module: Any, name: str) -> type[Pool]:
    backend: type[Pool] | None = getattr(module, name, None)
    if backend is None:
        near = did_you_mean(name, (n for n in vars(module) if not n.startswith("_")))
        raise PoolError(detail=f"pool {kind!r}: {module.__file__} has no {name!r}{near}", hint="correct `pool:` in clusterctl.yml")
    return backend


def _invalid_settings(declared: PoolDeclaration, model: type[PoolSettings], error: ValidationError) -> ConfigError:
    known = ", ".join(model.model_fields) or "none"
    hint = f"settings of pool {declared.kind!r}: {known}"
    found = []
    for item in error.errors():
        path, message = schema_error(item)
        near = did_you_mean(path, model.model_fields) if message == "unknown key" else ""
        found.append(invalid_key(declared.file, f"pool.{path}", f"{message}{near}", hint))
    return ConfigError(detail="\n".join(str(e) for e in found), hint=hint)
