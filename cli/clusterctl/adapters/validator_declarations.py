"""Reads what validator modules declare, without importing them: an import would need pytest, and run code of a site on the controller."""

from __future__ import annotations

import ast
import re
from dataclasses import fields
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import clusterctl_validators
from clusterctl.adapters.site_content import checked_validator_dirs, site_content
from clusterctl.core.near_match import did_you_mean
from clusterctl.model.errors import ConfigError
from clusterctl.model.node import Place
from clusterctl.model.validator_traits import ColdSetting, EvidenceScope, RackRule, RoleTraits, ValidatorTraits, VersionCheck

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_HINT = "docs/how-to/own-role-validator-gate-pool.md lists what a validator may declare"
_PLACES = tuple(f.name for f in fields(Place) if f.name != "slot")


def validator_traits() -> ValidatorTraits:
    """The declarations of the validators of clusterctl, of the site and of installed packages.

    Raises:
        ConfigError: one is not valid; with file and line.
    """
    return read_traits(checked_validator_dirs(site_content()))


def read_traits(site_dirs: Sequence[Path]) -> ValidatorTraits:
    """The declarations of the validators of clusterctl and of `site_dirs`."""
    found = dict(_own())
    for folder in site_dirs:
        found |= _of_folder(folder)
    return ValidatorTraits(found)


@lru_cache(maxsize=1)
def _own() -> dict[str, RoleTraits]:
    return _of_folder(Path(clusterctl_validators.__file__).parent)


def _of_folder(folder: Path) -> dict[str, RoleTraits]:
    read = {p.stem.removeprefix("test_"): _of_module(p) for p in sorted(folder.glob("test_*.py"))}
    return {role: traits for role, traits in read.items() if traits is not None}


def _of_module(file: Path) -> RoleTraits | None:
    """None where the module declares nothing. Only its head is parsed, because every command that validates waits for this."""
    text = file.read_text(encoding="utf-8")
    last = next(reversed(list(_DECLARES.finditer(text))), None)
    if last is None:
        return None
    code = _CODE.search(text)
    head = text[: code.start()] if code else text
    if last.start() > len(head):
        line = text.count("\n", 0, last.start()) + 1
        raise ConfigError(detail=f"{file}:{line}: {last[0]}: declared after the first function or class", hint=_HINT)
    declared: dict[str, Any] = {}
    for statement in ast.parse(head).body:
        name, value = _assigned(statement)
        if name in _READERS and value is not None:
            try:
                declared |= _READERS[name](ast.literal_eval(value))
            except (ValueError, TypeError, KeyError) as e:
                why = e.args[0] if isinstance(e, _UnusableError) else "not a literal value of the right type"
                raise ConfigError(detail=f"{file}:{statement.lineno}: {name}: {why}", hint=_HINT) from e
    traits = RoleTraits(**declared)
    if (traits.scope is EvidenceScope.RACK) != (traits.rack is not None):
        raise ConfigError(detail=f'{file}: SCOPE = "rack" and RACK belong together', hint=_HINT)
    if traits.asserted and not traits.asserts_only:
        raise ConfigError(detail=f"{file}: ASSERTED needs ASSERTS_ONLY = True", hint=_HINT)
    return traits


def _assigned(statement: ast.stmt) -> tuple[str, ast.expr | None]:
    if isinstance(statement, ast.Assign) and len(statement.targets) == 1 and isinstance(statement.targets[0], ast.Name):
        return statement.targets[0].id, statement.value
    if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
        return statement.target.id, statement.value
    return "", None


class _UnusableError(ValueError):
    """A declaration with an unknown value; the text names it."""


def _scope(value: Any) -> dict[str, Any]:
    if value not in list(EvidenceScope):
        raise _UnusableError(f"{value!r} is not one of {', '.join(EvidenceScope)}")
    return {"scope": EvidenceScope(value)}


def _flag(name: str) -> Callable[[Any], dict[str, Any]]:
    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, bool):
            raise _UnusableError(f"{value!r} is not True or False")
        return {name: value}

    return read


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, (tuple, list)) or not all(isinstance(v, str) and v for v in value):
        raise _UnusableError(f"{value!r} is not a tuple of texts")
    return tuple(value)


def _cold(value: Any) -> dict[str, Any]:
    """`{"<check in force>": "<check stored>"}`; a `*` stands for the item."""
    settings = []
    for now, stored in dict(value).items():
        if now.count("*") != 1 or stored.count("*") != 1:
            raise _UnusableError(f"{now!r}: {stored!r}: each needs one * for the item")
        settings.append(ColdSetting(_two(now), _two(stored)))
    return {"cold": tuple(settings)}


def _two(check: str) -> tuple[str, str]:
    first, _, last = check.partition("*")
    return first, last


def _running_kernel(value: Any) -> dict[str, Any]:
    if not isinstance(value, str):
        raise _UnusableError(f"{value!r} is not a check")
    return {"running_kernel": value}


def _versions(value: Any) -> dict[str, Any]:
    """`{"<check of a version>": ("<component>", "<check of its model>")}`; a `*` stands for the item."""
    checks = []
    for check, (component, model) in dict(value).items():
        if not all(isinstance(text, str) for text in (check, component, model)) or not component:
            raise _UnusableError(f"{check!r}: the component, and the check of its model or an empty text")
        if check.count("*") > 1 or model.count("*") > check.count("*"):
            raise _UnusableError(f"{check!r}: {model!r}: one * for the item, in both")
        checks.append(VersionCheck(check, component, model))
    return {"versions": tuple(checks)}


def _rack(value: Any) -> dict[str, Any]:
    known = {f.name for f in fields(RackRule)}
    given = dict(value)
    for key in given:
        if key not in known:
            raise _UnusableError(f"unknown key {key!r}{did_you_mean(str(key), sorted(known))}")
    given["same"] = _texts(given.get("same", ()))
    given["alike"] = _texts(given.get("alike", ()))
    if not given["same"] or not all(isinstance(v, str) for k, v in given.items() if k not in ("same", "alike")):
        raise _UnusableError('"same" names at least one fact, "alike" checks, and all other values are texts')
    if bool(given["alike"]) != bool(given.get("above")):
        raise _UnusableError('"alike" and "above" belong together')
    if given.get("by", "rack") not in _PLACES:
        raise _UnusableError(f'"by": {given["by"]!r} is not one of {", ".join(_PLACES)}')
    return {"rack": RackRule(**given)}


_READERS: dict[str, Callable[[Any], dict[str, Any]]] = {
    "SCOPE": _scope,
    "ASSERTS_ONLY": _flag("asserts_only"),
    "ASSERTED": lambda value: {"asserted": _texts(value)},
    "COLD": _cold,
    "COLD_LINKS": _flag("cold_links"),
    "ABOUT_OTHERS": lambda value: {"about_others": _texts(value)},
    "BEYOND_ROLE": lambda value: {"beyond_role": _texts(value)},
    "LEFT_BY_ROLE": lambda value: {"left_by_role": _texts(value)},
    "AFTER_BOOT": lambda value: {"after_boot": _texts(value)},
    "RUNNING_KERNEL": _running_kernel,
    "VERSIONS": _versions,
    "RACK": _rack,
}
_CODE = re.compile(r"^(?:def |class |async |@)", re.MULTILINE)
_DECLARES = re.compile(rf"^(?:{'|'.join(_READERS)})\b", re.MULTILINE)
