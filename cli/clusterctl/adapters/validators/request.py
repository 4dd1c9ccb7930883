"""The input of a node: the command, the launcher and the request. Pure."""

from __future__ import annotations

import json
import secrets
from collections import OrderedDict
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl_validators import launcher, run_on_node
from clusterctl_validators.run_on_node import SCHEMA_VERSION

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.adapters.validators.bundle import Bundle
    from clusterctl.adapters.validators.validation_settings import ValidationSettings
    from clusterctl.model.node import Node


@dataclass(frozen=True, slots=True)
class BundleRequest:
    """One request to one node.

    Attributes:
        nonce: comes back in the answer, so that an answer counts for one request only.
        roles: the roles that must have findings.
        body: the request as JSON.
    """

    node: str
    nonce: str
    bundle: str
    roles: tuple[str, ...]
    body: bytes


def make(node: Node, bundle: Bundle, settings: ValidationSettings) -> BundleRequest:
    """The request for a node: all its roles, or those that `settings.only` can mean, without those that the controller checks."""
    selected = tuple((name, v) for name, v in node.spec.roles.items() if settings.selects(name) and not bundle.traits.by_bmc(name))
    nonce = secrets.token_hex(8)
    head = {"schema_version": SCHEMA_VERSION, "node": node.name, "nonce": nonce}
    options = {
        "check_timeout_s": settings.check_timeout_s,
        "total_timeout_s": settings.checks_timeout_s,
        "cpu_quota_percent": settings.cpu_quota_percent,
    }
    words = (json.dumps(head)[:-1], f', "options": {json.dumps(options)}, "roles": ')
    body = "".join(words).encode() + _roles_json(selected) + b"}"
    return BundleRequest(node.name, nonce, bundle.sha256, tuple(name for name, _ in selected), body)


_Roles = tuple[tuple[str, "Mapping[str, object]"], ...]
_SPECS_KEPT = 64
_written: OrderedDict[tuple[int, ...], tuple[_Roles, bytes]] = OrderedDict()


def _roles_json(roles: _Roles) -> bytes:
    """The roles as JSON, made once for nodes that share their variables. The key is object identity; the cache holds the objects, so ids stay unique."""
    key = tuple(part for name, variables in roles for part in (hash(name), id(variables)))
    if key not in _written:
        _written[key] = (roles, json.dumps({name: dict(v) for name, v in roles}, default=str).encode())
        if len(_written) > _SPECS_KEPT:
            _written.popitem(last=False)
    return _written[key][1]


@lru_cache(maxsize=1)
def launcher_source() -> bytes:
    """The source of the launcher: the first bytes of the node's stdin."""
    return Path(launcher.__file__).read_bytes()


def bundle_command(mode: str, bundle: Bundle, python: str, module: str = run_on_node.__name__) -> list[str]:
    """The command for the node, which runs `main` of `module`; -I and -S ignore its environment and site packages, -B writes no byte code."""
    start = f"import sys; exec(sys.stdin.buffer.read({len(launcher_source())}))"
    oldest = ".".join(map(str, bundle.min_python))
    return [python, "-I", "-S", "-B", "-c", start, mode, bundle.sha256, str(bundle.size), oldest, module]
