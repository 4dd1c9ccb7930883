"""The stress test of ACME."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from clusterctl.core.gates.node_gate import NodeGate
from clusterctl.core.gates.settings import GateSettings
from clusterctl.model.gate_result import Sample

if TYPE_CHECKING:
    from clusterctl.core.gates.subject import Subject
    from clusterctl.model.gate_result import GateResult
    from clusterctl.model.level import Level


class AcmeSettings(GateSettings):
    """`gates_settings.acme_stress`."""

    seconds: int = 60


class AcmeStress(NodeGate[AcmeSettings]):
    """Passes when every GPU reaches the floor."""

    name = "acme_stress"
    settings_model = AcmeSettings
    tool = "acme_stress"
    units = {"rate": "TFLOPS"}  # noqa: RUF012 as in all gates
    installed_by = "acme_driver"

    def argv(self, settings: AcmeSettings, level: Level, subject: Subject) -> tuple[str, ...]:
        return ("acme-stress", "--seconds", str(settings.seconds), "--gpus", str(subject.gpus))

    def samples(self, text: str) -> tuple[Sample, ...]:
        return tuple(Sample("rate", float(rate), "TFLOPS", device=gpu) for gpu, rate in json.loads(text).items())

    def hint(self, result: GateResult) -> str:
        return f"cool {result.device}"


GATES = [AcmeStress()]
