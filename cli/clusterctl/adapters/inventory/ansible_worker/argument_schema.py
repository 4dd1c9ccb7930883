"""Check rendered values against a role's argument spec: Ansible's own type checkers, with the exact path of each breach."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ansible.module_utils.common.arg_spec import ArgumentSpecValidator
from ansible.module_utils.common.parameters import DEFAULT_TYPE_VALIDATORS

from clusterctl.adapters.inventory.ansible_worker.origins import plain
from clusterctl.core.near_match import did_you_mean

if TYPE_CHECKING:
    from collections.abc import Mapping

Options = dict[str, dict[str, Any]]
Path = tuple[str | int, ...]
_ARTICLES = {"int": "an int"}


@dataclass(frozen=True, slots=True)
class Breach:
    """A value that its option does not allow."""

    path: Path
    message: str

    def __str__(self) -> str:
        return "".join(f"[{p}]" if isinstance(p, int) else f".{p}" for p in self.path).removeprefix(".")


@dataclass(slots=True)
class CheckedArguments:
    """Values with the types of their options, defaults filled in; empty where there are breaches."""

    values: dict[str, Any] = field(default_factory=dict)
    breaches: list[Breach] = field(default_factory=list)


def check_arguments(options: Options, values: Mapping[str, Any]) -> CheckedArguments:
    """Check and convert the values of one role. Options that are not set and have no default are None."""
    breaches = _options(options, values, ())
    if breaches:
        return CheckedArguments(breaches=breaches)
    result = ArgumentSpecValidator(_native(options)).validate(dict(values))
    if result.error_messages:
        return CheckedArguments(breaches=[Breach((), str(m)) for m in result.error_messages])
    typed = plain(result.validated_parameters)
    return CheckedArguments(values=without_secrets(options, {k: _unless_empty(values.get(k), typed.get(k)) for k in options}))


def _unless_empty(given: Any, typed: Any) -> Any:
    """An empty dictionary stays empty: Ansible gives it every option with None, and it would pass for a declared one."""
    return {} if given == {} and isinstance(typed, dict) and all(v is None for v in typed.values()) else typed


def without_secrets(options: Options, values: Any) -> Any:
    """The values without those of `no_log` options, at any depth."""
    if isinstance(values, list):
        return [without_secrets(options, v) for v in values]
    if not isinstance(values, dict):
        return values
    kept = {}
    for key, value in values.items():
        option = options.get(key, {})
        if not option.get("no_log"):
            inner = option.get("options")
            kept[key] = without_secrets(inner, value) if inner else value
    return kept


def _options(options: Options, values: Mapping[str, Any], path: Path) -> list[Breach]:
    found = [Breach((*path, k), f"is not an option{did_you_mean(k, options)}") for k in values if k not in options]
    for name, option in options.items():
        value = values.get(name)
        if value is not None:
            found += _value(option, value, (*path, name))
        elif option.get("required") and not option.get("no_log"):
            found.append(Breach((*path, name), "is required, but not set"))
    return found


def _value(option: dict[str, Any], value: Any, path: Path) -> list[Breach]:
    wanted = str(option.get("type", "str"))
    problem = _type_problem(wanted, value)
    if problem:
        return [Breach(path, problem)]
    choices = option.get("choices")
    if isinstance(value, list):
        return [b for i, item in enumerate(value) for b in _element(option, choices, item, (*path, i))]
    found = _choice_problem(choices, value, path)
    if isinstance(value, dict) and option.get("options"):
        found += _options(option["options"], value, path)
    return found


def _element(option: dict[str, Any], choices: Any, item: Any, path: Path) -> list[Breach]:
    problem = _type_problem(str(option.get("elements", "raw")), item)
    if problem:
        return [Breach(path, problem)]
    found = _choice_problem(choices, item, path)
    if isinstance(item, dict) and option.get("options"):
        found += _options(option["options"], item, path)
    return found


def _choice_problem(choices: Any, value: Any, path: Path) -> list[Breach]:
    if not choices or value in choices or str(value) in [str(c) for c in choices]:
        return []
    return [Breach(path, f"{value!r} is not one of {', '.join(map(str, choices))}")]


def _type_problem(wanted: str, value: Any) -> str:
    name = _ARTICLES.get(wanted, f"a {wanted}")
    if wanted in ("dict", "list"):
        native = dict if wanted == "dict" else list
        return "" if isinstance(value, native) else f"{value!r} is not {name}"
    if wanted in ("str", "path"):
        return _str_problem(value, name)
    if wanted == "int" and isinstance(value, bool):
        return f"{value!r} is not {name}"
    try:
        DEFAULT_TYPE_VALIDATORS[wanted](value)
    except KeyError:
        return f"its option has the unknown type {wanted!r}"
    except (TypeError, ValueError):
        return f"{value!r} is not {name}"
    return ""


def _str_problem(value: Any, name: str) -> str:
    """Ansible would turn anything into a string; these are slips that YAML made of one."""
    if isinstance(value, bool):
        return f"{value!r} is not {name}: quote it"
    if isinstance(value, float):
        return f"{value!r} is a number, where {name} is wanted: quote it, trailing zeros are lost"
    return f"{value!r} is not {name}" if isinstance(value, (dict, list)) else ""


def _native(options: Options) -> Options:
    native: Options = plain(options)
    return native
