"""A machine's BIOS attribute registry: its attributes, their allowed values, and the rules that lock them. Pure."""

from __future__ import annotations

import operator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.bios import as_bool, near, same

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

_LOCKS = ("ReadOnly", "GrayOut")
_HIDDEN = "Hidden"
_NUMERIC: dict[str, Callable[[float, float], bool]] = {"GTR": operator.gt, "GEQ": operator.ge, "LSS": operator.lt, "LEQ": operator.le}


class ValueRefusedError(Exception):
    """The registry does not allow a value; the text lists the allowed ones."""


@dataclass(frozen=True)
class Attribute:
    """One entry of the registry.

    Attributes:
        options: the values of an enumeration as (ValueName, ValueDisplayName).
        locked: ReadOnly or GrayOut as the registry states it, which may be a snapshot.
    """

    name: str
    kind: str = "String"
    options: tuple[tuple[str, str], ...] = ()
    locked: bool = False
    lower: int | None = None
    upper: int | None = None


@dataclass(frozen=True)
class Rule:
    """A dependency: under `conditions` (attribute, operator, value, terms) a property of `target` becomes `value`."""

    target: str
    prop: str
    value: Any
    conditions: tuple[tuple[str, str, Any, str], ...]

    def holds(self, state: Mapping[str, Any]) -> bool:
        """Whether the rule applies. Terms are in postfix order; conditions that no term joins are alternatives."""
        stack: list[bool] = []
        for name, how, expected, terms in self.conditions:
            stack.append(_condition(state.get(name), how, expected))
            for term in filter(None, terms.replace(" ", "").split(",")):
                if len(stack) > 1:
                    last, before = stack.pop(), stack.pop()
                    stack.append(last and before if term.upper() == "AND" else last or before)
        return any(stack)

    def reason(self, state: Mapping[str, Any]) -> str:
        """The attributes in the conditions, with their values."""
        return ", ".join(dict.fromkeys(f"{name}={state.get(name)}" for name, *_ in self.conditions))


@dataclass(frozen=True)
class Registry:
    """The attributes of a machine and their rules."""

    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    rules: tuple[Rule, ...] = ()

    @classmethod
    def parse(cls, document: Mapping[str, Any]) -> Registry:
        """Parse an AttributeRegistry resource; unknown parts are ignored, because the BMC checks every write itself."""
        entries = document.get("RegistryEntries") or {}
        attributes = {a["AttributeName"]: _attribute(a) for a in entries.get("Attributes") or [] if a.get("AttributeName")}
        rules = [_rule(d.get("Dependency") or {}) for d in entries.get("Dependencies") or []]
        return cls(attributes, tuple(r for r in rules if r is not None))

    def locks(self, name: str, state: Mapping[str, Any]) -> list[str]:
        """Why `name` cannot be written under `state`; empty if it can. A hidden attribute is locked only if the machine does not report it."""
        kinds = _LOCKS if name in state else (*_LOCKS, _HIDDEN)
        active = [r for r in self._of(name, kinds) if as_bool(r.value) and r.holds(state)]
        if active:
            return list(dict.fromkeys(r.reason(state) for r in active))
        known = self.attributes.get(name)
        return ["read-only on this machine"] if known and known.locked and not self._of(name, _LOCKS) else []

    def forced(self, name: str, state: Mapping[str, Any]) -> Any:
        """The value that other attributes force on `name` under `state`; None if the registry has no such rule."""
        values = [r.value for r in self._of(name, ("CurrentValue",)) if r.holds(state)]
        return values[-1] if values else None

    def parents(self, name: str) -> frozenset[str]:
        """The attributes that `name` depends on."""
        return frozenset(c[0] for r in self._of(name, (*_LOCKS, _HIDDEN, "CurrentValue")) for c in r.conditions) - {name}

    def spell(self, name: str, value: Any, *, by_display: bool) -> Any:
        """`value` as this machine spells it.

        Args:
            name: the attribute; one that is not in the registry accepts any value.
            value: as declared.
            by_display: whether this machine reports enumerations by their display names.

        Raises:
            ValueRefusedError: the registry does not allow it.
        """
        known = self.attributes.get(name)
        if known is None:
            return value
        if known.kind == "Password":
            raise ValueRefusedError("is a password, which this role does not set")
        if known.kind == "Enumeration" and known.options:
            return _enumerated(known, value, by_display)
        if known.kind == "Boolean":
            switch = as_bool(value)
            if switch is None:
                raise ValueRefusedError(f"{value!r} is neither true nor false")
            return switch
        return _integer(known, value) if known.kind == "Integer" else str(value)

    def uses_display_names(self, current: Mapping[str, Any]) -> bool:
        """Whether the machine reports enumerations by display name (Supermicro: Enable, not 1)."""
        names = displays = 0
        for a in self.attributes.values():
            value = current.get(a.name)
            if a.kind == "Enumeration" and isinstance(value, str):
                by_name, by_display = (value in {o[i] for o in a.options} for i in (0, 1))
                names += by_name and not by_display
                displays += by_display and not by_name
        return displays > names

    def _of(self, name: str, props: Iterable[str]) -> list[Rule]:
        return [r for r in self.rules if r.target == name and r.prop in props]


def _attribute(entry: Mapping[str, Any]) -> Attribute:
    options = tuple((str(v.get("ValueName")), str(v.get("ValueDisplayName") or v.get("ValueName"))) for v in entry.get("Value") or [])
    locked = any(as_bool(entry.get(p)) for p in _LOCKS)
    return Attribute(
        entry["AttributeName"], entry.get("Type") or "String", options, locked, entry.get("LowerBound"), entry.get("UpperBound")
    )


def _rule(dependency: Mapping[str, Any]) -> Rule | None:
    target, prop = dependency.get("MapToAttribute"), dependency.get("MapToProperty")
    conditions = tuple(
        (str(m.get("MapFromAttribute")), str(m.get("MapFromCondition")), m.get("MapFromValue"), str(m.get("MapTerms") or ""))
        for m in dependency.get("MapFrom") or []
        if m.get("MapFromProperty", "CurrentValue") == "CurrentValue"
    )
    return Rule(target, prop, dependency.get("MapToValue"), conditions) if target and prop and conditions else None


def _condition(found: Any, how: str, expected: Any) -> bool:
    if found is None:
        return False
    if how in ("EQU", "NEQ"):
        return same(found, expected) is (how == "EQU")
    try:
        return _NUMERIC[how](float(found), float(expected))
    except (KeyError, ValueError, TypeError):
        return False


def _enumerated(known: Attribute, value: Any, by_display: bool) -> str:
    """The matching option. A number never matches a ValueName on machines that use display names, because 1 may mean Disable there."""
    spelling = 1 if by_display else 0
    text = str(value)
    if isinstance(value, bool):
        matches = [[o for o in known.options if as_bool(o[1]) is value]]
    else:
        matches = [[o for o in known.options if o[spelling] == text], [o for o in known.options if same(o[spelling], value)]]
        if any(c.isalpha() for c in text):
            matches += [[o for o in known.options if same(o[1], value)], [o for o in known.options if o[0] == text]]
    chosen = next((found for found in matches if found), [])
    if len(chosen) == 1:
        return chosen[0][spelling]
    allowed = [o[spelling] for o in known.options]
    guess = near(text, allowed, 1)
    hint = f"; did you mean {guess[0]!r}?" if guess else ""
    raise ValueRefusedError(f"{value!r} is {'ambiguous among' if chosen else 'not one of'} {', '.join(allowed)}{hint}")


def _integer(known: Attribute, value: Any) -> int:
    try:
        number = int(str(value), 0)
    except ValueError as e:
        raise ValueRefusedError(f"{value!r} is not a whole number") from e
    low, high = known.lower, known.upper
    if (low is not None and number < low) or (high is not None and number > high):
        raise ValueRefusedError(f"{number} is not in {low}..{high}")
    return number
