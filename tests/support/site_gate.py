"""A site's gate, as `docs/reference/gates.md` shows one, without any care for what its output may be."""

from __future__ import annotations

import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, ClassVar

from clusterctl.core.gates import registry
from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.settings import GateSettings
from clusterctl.core.parsers import UnparsableError
from clusterctl.model.gate_result import Sample
from support.gates import SOURCE

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.level import Level

FAN_FLOOR: dict[str, Any] = {"gate": "site_fans", "metric": "speed", "kind": "floor", "value": 9000.0, "unit": "rpm", **SOURCE}


class FanSettings(GateSettings):
    """As in the page."""

    seconds: int = 5


class Fans(NodeGate[FanSettings]):
    """Passes when every fan reaches the floor."""

    name = "site_fans"
    settings_model = FanSettings
    tool = "site_fans"
    units: ClassVar[Mapping[str, str]] = {"speed": "rpm"}

    def argv(self, settings: FanSettings, level: Level, subject: Subject) -> tuple[str, ...]:
        """One command."""
        return ("fans", "--json", "--seconds", str(settings.seconds))

    def samples(self, text: str) -> tuple[Sample, ...]:
        """A sample for every fan."""
        try:
            return tuple(Sample("speed", float(rpm), "rpm", device=fan) for fan, rpm in json.loads(text).items())
        except ValueError as e:
            raise UnparsableError(tool="fans", reason=str(e)) from e

    def hint(self, result: Any) -> str:
        """The fan."""
        return f"replace {result.device}"


@contextmanager
def registered(gate: Fans) -> Iterator[None]:
    """A gate that is registered meanwhile."""
    known = dict(registry._gates)
    registry.register(gate)
    try:
        yield
    finally:
        registry._gates.clear()
        registry._gates.update(known)
