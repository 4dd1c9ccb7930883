"""Plan the changes to the BIOS of one machine, from declared, current and pending values and its registry. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ansible_collections.clusterctl.gpu.plugins.module_utils.bios_registry import Registry, ValueRefusedError
from ansible_collections.clusterctl.gpu.plugins.module_utils.clusterctl_tools.bios import matching, near, same

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

OK, WRITE, RESET, FOLLOWS, LATER = "ok", "write", "reset", "follows", "later"


@dataclass(frozen=True)
class DeclaredAttribute:
    """A declared attribute. `also`: its names on other machines; an `optional` one may be absent."""

    name: str
    value: Any
    also: tuple[str, ...] = ()
    optional: bool = False


@dataclass(frozen=True)
class Line:
    """One attribute of the machine.

    Attributes:
        name: as declared; `attribute` is its name on this machine.
        pending: its value after the next reset if nothing is written.
        step: ok, write (now), reset (pending, waits for the reset), follows (set by the preset in `why`), later (written after the reset that
            applies the values in `why`).
        cycle: the reset that applies it, counted from 1; 0 if none is needed.
    """

    name: str
    attribute: str
    current: Any
    pending: Any
    desired: Any
    step: str
    cycle: int = 0
    why: str = ""

    def __str__(self) -> str:
        notes = {
            OK: "",
            WRITE: "",
            RESET: " (waits for a reset)",
            FOLLOWS: f" (set by {self.why})",
            LATER: f" (after reset {self.cycle - 1}: {self.why})",
        }
        return f"{self.attribute}: {self.current} -> {self.pending} -> {self.desired}{notes[self.step]}"


@dataclass(frozen=True)
class Plan:
    """All attributes and problems. `foreign`: pending changes of undeclared attributes."""

    lines: tuple[Line, ...] = ()
    problems: tuple[str, ...] = ()
    foreign: Mapping[str, Any] = field(default_factory=dict)

    @property
    def writes(self) -> dict[str, Any]:
        """The values to write now."""
        return {line.attribute: line.desired for line in self.lines if line.step == WRITE}

    @property
    def waiting(self) -> dict[str, Any]:
        """The values that the next reset applies, once `writes` are written."""
        return {line.attribute: line.desired for line in self.lines if line.step in (WRITE, RESET)}

    @property
    def resets(self) -> int:
        """The number of resets until all attributes are as declared."""
        return max((line.cycle for line in self.lines), default=0)


def make_plan(declared: Iterable[DeclaredAttribute], registry: Registry, current: Mapping[str, Any], pending: Mapping[str, Any]) -> Plan:
    """Plan a step for every declared attribute.

    Args:
        declared: the declared attributes.
        registry: the machine's attribute registry; empty if it has none.
        current: the values in force.
        pending: the Settings object: all values or only the changed ones.
    """
    desired, problems, names = _desired(declared, registry, current)
    effective = {**current, **{k: v for k, v in pending.items() if v is not None}}
    planner = _Planner(registry, current, effective, desired)
    lines = []
    for attribute in desired:
        line, problem = planner.line(names[attribute], attribute)
        lines.append(line)
        problems += [problem] if problem else []
    foreign = {k: v for k, v in pending.items() if k not in desired and v is not None and not same(v, current.get(k))}
    return Plan(tuple(lines), tuple(problems), foreign)


def _desired(
    declared: Iterable[DeclaredAttribute], registry: Registry, current: Mapping[str, Any]
) -> tuple[dict[str, Any], list[str], dict[str, str]]:
    """Attribute -> value, both as this machine spells them; problems; attribute -> declared name."""
    desired: dict[str, Any] = {}
    names: dict[str, str] = {}
    problems = []
    by_display = registry.uses_display_names(current)
    known = {*registry.attributes, *current}
    for item in declared:
        found = {a for name in (item.name, *item.also) for a in matching(name, known)}
        chosen = sorted(found & set(current)) or sorted(found)
        if not chosen and not item.optional:
            guesses = near(item.name, known)
            hint = f"; did you mean {' or '.join(guesses)}?" if guesses else ""
            problems.append(f"{item.name}: this machine has no such attribute{hint}")
        for attribute in chosen:
            try:
                value = registry.spell(attribute, item.value, by_display=by_display)
            except ValueRefusedError as e:
                problems.append(f"{attribute}: {e}")
                continue
            if attribute in desired and not same(desired[attribute], value):
                problems.append(f"{attribute}: declared as {desired[attribute]!r} ({names[attribute]}) and as {value!r} ({item.name})")
            desired[attribute], names[attribute] = value, item.name
    return desired, problems, names


@dataclass(frozen=True)
class _Planner:
    registry: Registry
    current: Mapping[str, Any]
    effective: Mapping[str, Any]
    desired: Mapping[str, Any]

    @property
    def final(self) -> dict[str, Any]:
        """The state once everything is as declared."""
        return {**self.effective, **self.desired}

    def line(self, name: str, attribute: str) -> tuple[Line, str]:
        """The line of an attribute, and its problem (empty if there is none)."""
        desired, current, pending = self.desired[attribute], self.current.get(attribute), self.effective.get(attribute)
        step, cycle, why, problem = self._step(attribute)
        return Line(name, attribute, current, pending, desired, step, cycle, why), f"{attribute}: {problem}" if problem else ""

    def _step(self, attribute: str, seen: tuple[str, ...] = ()) -> tuple[str, int, str, str]:
        """Step, cycle, why, problem."""
        desired, changing = self.desired[attribute], self._changing_parents(attribute)
        then = self.registry.locks(attribute, self.final)
        forced = self.registry.forced(attribute, self.final) if changing else None
        overruled = forced is not None and not same(forced, desired)
        why = ", ".join(f"{p}={self.final[p]}" for p in sorted(changing))
        if overruled and then:
            return OK, 0, "", f"{then[0]} locks it at {forced!r}, but {desired!r} is declared"
        if not overruled and same(self.effective.get(attribute), desired):
            return (OK, 0, "", "") if same(self.current.get(attribute), desired) else (RESET, 1, "", "")
        if not overruled and forced is not None and then:
            return FOLLOWS, self._cycle(changing, (*seen, attribute)), why, ""
        problem = "" if overruled else self._obstacle(attribute, then, unlockable=bool(changing))
        if problem:
            return OK, 0, "", problem
        if not overruled and not self.registry.locks(attribute, self.current):
            return WRITE, 1, "", ""
        return LATER, 1 + self._cycle(changing, (*seen, attribute)), why, ""

    def _obstacle(self, attribute: str, then: list[str], *, unlockable: bool) -> str:
        """Why an attribute cannot be written, now or after the planned resets; empty if it can."""
        now = self.registry.locks(attribute, self.current)
        if not now:
            return "" if attribute in self.current else "is in the registry, but this machine does not report it"
        if then or not unlockable:
            return f"cannot become {self.desired[attribute]!r}: {'stays ' if unlockable else ''}locked, {(then or now)[0]}"
        return ""

    def _changing_parents(self, attribute: str) -> set[str]:
        """The parents whose value the plan changes."""
        final = self.final
        return {p for p in self.registry.parents(attribute) if not same(self.current.get(p), final.get(p))}

    def _cycle(self, attributes: set[str], seen: tuple[str, ...]) -> int:
        """The reset after which all of these have their final values; circular dependencies count once."""
        return max((self._step(a, seen)[1] for a in attributes if a in self.desired and a not in seen), default=1) or 1
