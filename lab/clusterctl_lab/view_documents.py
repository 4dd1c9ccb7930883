"""The machine-readable results of the lab's verbs; their JSON schemas are generated from these classes (`scripts/document_schemas.py`)."""

from __future__ import annotations

from collections.abc import Mapping  # noqa: TC003 pydantic reads the annotations when the schemas are generated
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class LabFault:
    """An injected fault; without a device or an option, that is empty."""

    name: str
    device: str
    option: str


@dataclass(frozen=True, slots=True)
class LabNode:
    """A node of the lab.

    Attributes:
        hardware: what it simulates.
        bmc_answers: whether its BMC is being served.
    """

    name: str
    rack: str
    address: str
    state: Literal["running", "stopped"]
    hardware: str
    bmc_url: str
    bmc_answers: bool
    image: str
    faults: tuple[LabFault, ...]


@dataclass(frozen=True, slots=True)
class LabStatusDocument:
    """clusterctl lab status -o json."""

    simulated: Literal[True]
    nodes: tuple[LabNode, ...]


@dataclass(frozen=True, slots=True)
class ResolvedProfile:
    """The packages of a profile on one release.

    Attributes:
        role: the role whose packages do not resolve; empty where all do. So for the next one.
        reason: why, in the words of the package manager.
        declared: role -> how many packages it declares.
        installed: package -> version of all that would be installed in the end.
    """

    profile: str
    release: str
    resolves: bool
    role: str
    reason: str
    declared: Mapping[str, int]
    installed: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ResolveDocument:
    """clusterctl lab resolve -o json.

    Attributes:
        not_covered: what it does not show, for people.
    """

    simulated: Literal[True]
    not_covered: tuple[str, ...]
    results: tuple[ResolvedProfile, ...]


LAB_DOCUMENTS: dict[str, type[object]] = {"lab-status": LabStatusDocument, "resolve": ResolveDocument}
