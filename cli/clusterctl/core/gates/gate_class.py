"""What is wrong with the class of a site's gate, found before anything is measured. Its attributes are looked at; no code of the site runs."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from clusterctl.core.gates.gate import Gate, Scope
from clusterctl.core.gates.settings import GateSettings
from clusterctl.core.parsers import TOOLS
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

_NAME = re.compile(r"[a-z][a-z0-9_]*")
_OWN = "clusterctl."
_BY_POSITION = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def origin_of(gate: Gate[Any]) -> str:
    """Where the class of a gate is written: `plugins/fans.py:14: Fans`, or its module where that is not a file."""
    kind = type(gate)
    try:
        place = f"{inspect.getsourcefile(kind)}:{inspect.getsourcelines(kind)[1]}: "
    except (OSError, TypeError):  # made by a call of type(), or installed without its source
        place = f"{kind.__module__}."
    return f"{place}{kind.__qualname__}"


def faults_of(gate: Gate[Any]) -> Iterator[tuple[str, str]]:
    """What makes a gate unusable, and what to do; the class of a site's gate is checked by no one else."""
    kind = type(gate)
    name, scope, model, tool = (inspect.getattr_static(gate, attribute, None) for attribute in ("name", "scope", "settings_model", "tool"))
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        yield f"{name!r} is not the name of a gate", "use lower case letters, digits and `_`"
    if not isinstance(scope, Scope):
        yield "it has no scope", "derive it from NodeGate, PairGate or GroupGate"
    if not (isinstance(model, type) and issubclass(model, GateSettings)):
        yield f"settings_model is {model!r}", "set it to a class derived from clusterctl.core.gates.settings.GateSettings"
    elif required := [field for field, info in model.model_fields.items() if info.is_required()]:
        yield f"setting {required[0]} has no default", "a profile that does not run the gate need not have its settings: add a default"
    if not isinstance(tool, str) or (tool not in TOOLS and kind.samples is Gate.samples):
        yield f"no parser reads {tool!r}", f"override `samples`, or set `tool` to one of: {', '.join(TOOLS)}"
    for hook, base in _hooks(kind):
        if problem := _misfit(inspect.getattr_static(gate, hook), base):
            yield f"{hook} {problem}", f"write def {hook}{_shown(base)}"


def raised_while_planned(gate: Gate[Any], error: Exception) -> ConfigError:
    """The error for what the code of a site's gate raised; clusterctl's own gates raise none."""
    if type(gate).__module__.startswith(_OWN):
        raise error
    return ConfigError(
        detail=f"gate {origin_of(gate)}: planning it raised {type(error).__name__}: {error}", hint="correct the code of the gate"
    )


def _hooks(kind: type[Gate[Any]]) -> Iterator[tuple[str, object]]:
    """Every public method that a class of clusterctl declares for its gates, with that declaration."""
    declared: dict[str, object] = {}
    for base in kind.__mro__:
        if base.__module__.startswith(_OWN):
            for name, method in vars(base).items():
                if not name.startswith("_") and inspect.isfunction(method):
                    declared.setdefault(name, method)
    yield from declared.items()


def _misfit(found: object, base: object) -> str:
    """Why a method cannot be called as the declared one is; empty if it can."""
    if found is base:
        return ""
    function = found.__func__ if isinstance(found, staticmethod | classmethod) else found
    if not callable(function):
        return f"is {found!r}, no method"
    try:
        given = [p for p in inspect.signature(base).parameters.values() if p.kind in _BY_POSITION]  # type: ignore[arg-type]
        named = {p.name: None for p in inspect.signature(base).parameters.values() if p.kind is inspect.Parameter.KEYWORD_ONLY}  # type: ignore[arg-type]
        bound = given[1:] if isinstance(found, staticmethod) else given
        inspect.signature(function).bind(*bound, **named)
    except TypeError as e:
        return f"cannot be called as gates are: {e}"
    except ValueError:  # written in C: nothing is known of it
        return ""
    return ""


def _shown(base: object) -> str:
    """The declared arguments by their names."""
    return f"({', '.join(inspect.signature(base).parameters)})"  # type: ignore[arg-type]
