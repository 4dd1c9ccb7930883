"""`gates_levels`, `gates_settings`, `gates_baselines`: read, checked, typed. Pure; every problem is reported at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clusterctl.core.gates.baselines import baseline_problems
from clusterctl.core.gates.judging.limits import deciding
from clusterctl.core.gates.peer_address import peer_address_problem
from clusterctl.core.gates.planning.devices import gpu_model_of, gpus_of, hcas_of
from clusterctl.core.gates.published import published_problems
from clusterctl.core.gates.registry import all_gates, gate_named, gate_names
from clusterctl.core.observe import deciding_gates, parse_observations
from clusterctl.core.schema_errors import schema_error
from clusterctl.model.errors import GatesInvalidError
from clusterctl.model.gate_result import Baseline, BaselineKind
from clusterctl.model.level import LEVELS, Level
from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from datetime import date

    from clusterctl.core.gates.gate import Gate, S
    from clusterctl.core.gates.settings import GateSettings
    from clusterctl.model.node import Node

_KNOWN = ("gates_levels", "gates_settings", "gates_baselines", "gates_peer_address", "gates_allowed_programs")
_PARTS = ("gates_settings_", "gates_baselines_")


class BaselineEntry(BaseModel):
    """One entry of `gates_baselines`, as written."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)

    gate: str
    metric: str
    kind: str
    value: float | None
    unit: str
    source: Annotated[str, Field(min_length=1)]
    date: Annotated[str, Field(pattern=r"^\d{4}-\d{2}(-\d{2})?$")]
    expires: Annotated[str, Field(pattern=r"^(\d{4}-\d{2}-\d{2})?$")] = ""
    sku: str = ""
    fabric: str = ""
    nodes: Annotated[int, Field(gt=0)] | None = None
    nodes_min: Annotated[int, Field(gt=0)] | None = None
    nodes_max: Annotated[int, Field(gt=0)] | None = None
    size_bytes: Annotated[int, Field(gt=0)] | None = None
    op: str = ""
    n: Annotated[int, Field(gt=0)] | None = None
    spread: float | None = None
    versions: dict[str, str] = {}
    tolerance_percent: Annotated[float, Field(ge=0, lt=100)] = 0.0
    reason: str = ""


class _Document(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    gates_levels: dict[Level, list[str]]
    gates_settings: dict[str, Any] = {}
    gates_baselines: list[BaselineEntry] = []
    gates_peer_address: str = ""
    gates_allowed_programs: list[str] = []


@dataclass(frozen=True, slots=True)
class GatesProfile:
    """What burn-in measures on a node and how it is judged.

    Attributes:
        levels: burn-in level -> its gates, in order; those that always take part are at the end.
        settings: gate -> its settings; every registered gate has some.
        allowed_programs: what may compute on the node while it is measured, with what it starts.
        peer_address: the address other nodes measure this one by; empty = the address of its SSH connection.
    """

    levels: Mapping[Level, tuple[str, ...]]
    settings: Mapping[str, GateSettings]
    baselines: tuple[Baseline, ...]
    peer_address: str = ""
    allowed_programs: tuple[str, ...] = ()

    def settings_of(self, gate: Gate[S]) -> S:
        """The settings of a gate."""
        settings = self.settings[gate.name]
        if not isinstance(settings, gate.settings_model):
            raise TypeError(f"the settings of {gate.name} are {type(settings).__name__}")
        return settings

    def for_gate(self, gate: str) -> tuple[Baseline, ...]:
        """The baselines of a gate."""
        return tuple(b for b in self.baselines if b.gate == gate)


def profile_of(node: Node, today: date) -> GatesProfile:
    """The gates profile of a node.

    Raises:
        GatesInvalidError: naming every problem with its path.
    """
    known = {k: v for k, v in node.spec.gates.items() if not k.startswith(_PARTS)}
    misspelt = [Problem(k, f"unknown variable; known: {', '.join(_KNOWN)}") for k in known if k not in _KNOWN]
    if "gates_levels" not in known:
        misspelt.append(Problem("gates_levels", "missing; the profile of this node declares no burn-in"))
    if misspelt:
        raise _invalid(node.name, misspelt)
    try:
        document = _Document.model_validate(known)
    except ValidationError as e:
        raise _invalid(node.name, [*_schema_problems(e), *_settings(known.get("gates_settings"))[1]]) from e
    settings, unreadable = _settings(document.gates_settings)
    problems = [*unreadable, *_level_problems(document.gates_levels)]
    if wrong := peer_address_problem(document.gates_peer_address, node.connection.host):
        problems.append(Problem("gates_peer_address", wrong))
    if unreadable:
        raise _invalid(node.name, problems)
    entries = tuple(_baseline(e) for e in document.gates_baselines)
    problems += _missing_level_problems(settings)
    problems += baseline_problems(entries, settings, hcas=hcas_of(node), gpus=gpus_of(node), today=today)
    problems += published_problems(entries, settings, gpu_model=gpu_model_of(node), hcas=hcas_of(node))
    named = dict.fromkeys(g for gates in document.gates_levels.values() for g in gates)
    problems += _uncovered_problems(deciding_gates(named, parse_observations(node.spec.observe, node.name)), entries)
    if problems:
        raise _invalid(node.name, problems)
    always = [gate.name for gate in all_gates() if gate.always]
    levels = {level: tuple(dict.fromkeys((*gates, *always))) for level, gates in document.gates_levels.items()}
    return GatesProfile(levels, settings, entries, document.gates_peer_address, tuple(document.gates_allowed_programs))


def _settings(declared: Any) -> tuple[dict[str, GateSettings], list[Problem]]:
    """The settings of every gate, and what is wrong with them; a value that is not a mapping is a problem of the document."""
    given = declared if isinstance(declared, Mapping) else {}
    problems = [Problem(f"gates_settings.{g}", f"unknown gate; known: {', '.join(gate_names())}") for g in given if g not in gate_names()]
    settings: dict[str, GateSettings] = {}
    for gate in all_gates():
        try:
            settings[gate.name] = gate.settings_model.model_validate(given.get(gate.name, {}))
        except ValidationError as e:
            problems += _schema_problems(e, f"gates_settings.{gate.name}")
    return settings, problems


def _baseline(entry: BaselineEntry) -> Baseline:
    fields = entry.model_dump()
    kind = fields.pop("kind")
    value = fields.pop("value")
    known = kind in set(BaselineKind)
    return Baseline(kind=BaselineKind(kind) if known else kind, value=0.0 if value is None else value, **fields)


def _level_problems(levels: Mapping[Level, list[str]]) -> list[Problem]:
    known = gate_names()
    problems = [
        Problem(f"gates_levels.{level}", f"missing; usual: [{', '.join(_usual(level))}]") for level in LEVELS if level not in levels
    ]
    for level, gates in levels.items():
        path = f"gates_levels.{level}"
        problems += [
            Problem(f"{path}[{i}]", f"unknown gate {g!r}; known: {', '.join(known)}") for i, g in enumerate(gates) if g not in known
        ]
        problems += [Problem(path, f"{g!r} occurs twice") for g in dict.fromkeys(gates) if gates.count(g) > 1]
        if not gates:
            problems.append(Problem(path, "is empty; a burn-in that measures nothing admits nothing"))
    return problems


def _usual(level: Level) -> list[str]:
    return [gate.name for gate in all_gates() if level in gate.default_levels]


def _missing_level_problems(settings: Mapping[str, GateSettings]) -> list[Problem]:
    problems = []
    for gate, own in settings.items():
        for name, value in own:
            if isinstance(value, dict) and value and set(value) <= set(LEVELS):
                path = f"gates_settings.{gate}.{name}"
                problems += [Problem(path, f"level {level} is missing") for level in LEVELS if level not in value]
    return problems


def _uncovered_problems(gates: Iterable[str], entries: tuple[Baseline, ...]) -> list[Problem]:
    """Of gates that decide: one that is observed may be measured to find its limit."""
    declared = {g for g in gates if g in gate_names() and gate_named(g).needs_floor}
    directions = {gate: gate_named(gate).direction for gate in sorted(declared)}
    missing = {gate: way.limit for gate, way in directions.items() if not deciding([b for b in entries if b.gate == gate], way)}
    return [Problem("gates_baselines", f"no {limit} for {gate}, so it could never be judged") for gate, limit in missing.items()]


def _schema_problems(invalid: ValidationError, owner: str = "") -> list[Problem]:
    found = [schema_error(error) for error in invalid.errors()]
    return [Problem(".".join(part for part in (owner, path) if part), message) for path, message in found]


def _invalid(node: str, problems: Iterable[Problem]) -> GatesInvalidError:
    distinct = tuple(dict.fromkeys(problems))
    lines = "\n".join(f"  {p.path}: {p.message}" for p in distinct)
    return GatesInvalidError(
        detail=f"the gates of {node} are invalid:\n{lines}",
        hint="correct gates.yml of the node's profile; nothing was measured",
        problems=distinct,
    )
