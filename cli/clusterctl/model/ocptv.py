"""The messages of OCP Test & Validation 2.0 in which a run is reported; names and meaning: opencomputeproject/ocp-diag-core, json_spec/README.md.

An attribute that is None or empty is left out of the output. The library `ocptv` is not used: it stamps every message with the present time,
and these describe a run that has ended.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, ClassVar, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

Scalar: TypeAlias = str | float | bool
Metadata: TypeAlias = "Mapping[str, Scalar | tuple[str, ...]]"


class ValidatorType(StrEnum):
    """How a measurement, on the left, is compared."""

    EQUAL = "EQUAL"
    LESS_THAN = "LESS_THAN"
    LESS_THAN_OR_EQUAL = "LESS_THAN_OR_EQUAL"
    GREATER_THAN_OR_EQUAL = "GREATER_THAN_OR_EQUAL"


class DiagnosisType(StrEnum):
    """What a diagnosis found."""

    PASS = "PASS"  # noqa: S105
    FAIL = "FAIL"


class LogSeverity(StrEnum):
    """Of a log line."""

    INFO = "INFO"
    WARNING = "WARNING"


class TestStatus(StrEnum):
    """How a test run or step ended."""

    COMPLETE = "COMPLETE"
    ERROR = "ERROR"
    SKIP = "SKIP"


class TestResult(StrEnum):
    """The result of a test run for the device under test. PASS and FAIL go with COMPLETE only, NOT_APPLICABLE with ERROR and SKIP only."""

    NOT_APPLICABLE = "NOT_APPLICABLE"
    PASS = "PASS"  # noqa: S105
    FAIL = "FAIL"


@dataclass(frozen=True, slots=True)
class HardwareInfo:
    """A part of the device under test."""

    hardware_info_id: str
    name: str
    part_type: str
    location: str
    serial_number: str
    computer_system: str


@dataclass(frozen=True, slots=True)
class SoftwareInfo:
    """A program that took part."""

    software_info_id: str
    name: str
    version: str
    software_type: str = "APPLICATION"


@dataclass(frozen=True, slots=True)
class DutInfo:
    """The device under test."""

    dut_info_id: str
    name: str
    software_infos: tuple[SoftwareInfo, ...]
    hardware_infos: tuple[HardwareInfo, ...]
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class TestRunStart:
    """`command_line` and `parameters` are required, empty ones included."""

    KEY: ClassVar[str] = "testRunStart"
    name: str
    version: str
    command_line: str
    parameters: Metadata
    dut_info: DutInfo
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class TestRunEnd:
    """The last message of a test run."""

    KEY: ClassVar[str] = "testRunEnd"
    status: TestStatus
    result: TestResult


@dataclass(frozen=True, slots=True)
class TestStepStart:
    """The first message of a step."""

    KEY: ClassVar[str] = "testStepStart"
    name: str


@dataclass(frozen=True, slots=True)
class TestStepEnd:
    """The last message of a step."""

    KEY: ClassVar[str] = "testStepEnd"
    status: TestStatus


@dataclass(frozen=True, slots=True)
class Subcomponent:
    """A device that is none of the recorded parts."""

    name: str


@dataclass(frozen=True, slots=True)
class MeasurementValidator:
    """What a measurement was compared with."""

    name: str
    type: ValidatorType
    value: float
    metadata: Metadata = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Measurement:
    """A number that was measured."""

    KEY: ClassVar[str] = "measurement"
    name: str
    value: float
    unit: str
    validators: tuple[MeasurementValidator, ...]
    hardware_info_id: str
    subcomponent: Subcomponent | None
    metadata: Metadata


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """`verdict` is the same text for everything that is alike, to be counted; `message` is for people."""

    KEY: ClassVar[str] = "diagnosis"
    verdict: str
    type: DiagnosisType
    message: str
    hardware_info_id: str = ""
    subcomponent: Subcomponent | None = None


@dataclass(frozen=True, slots=True)
class TestError:
    """Something could not be tested: no statement about the hardware."""

    KEY: ClassVar[str] = "error"
    symptom: str
    message: str


@dataclass(frozen=True, slots=True)
class LogLine:
    """What is to be known, and is not a verdict."""

    KEY: ClassVar[str] = "log"
    severity: LogSeverity
    message: str


StepMessage: TypeAlias = TestStepStart | TestStepEnd | Measurement | Diagnosis | TestError | LogLine
RunMessage: TypeAlias = TestRunStart | TestRunEnd | TestError | LogLine


@dataclass(frozen=True, slots=True)
class OutputArtifact:
    """One line of the output, before it is numbered.

    Attributes:
        step_id: of the step that it belongs to; empty for a message of the test run itself.
        at: when it became known.
    """

    message: RunMessage | StepMessage
    at: str
    step_id: str = ""
