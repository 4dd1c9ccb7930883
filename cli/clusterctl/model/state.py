"""The states of a node's lifecycle. Legal transitions are in `core.lifecycle`."""

from __future__ import annotations

from enum import StrEnum


class State(StrEnum):
    """Where a node stands."""

    REGISTERED = "registered"
    PROVISIONING = "provisioning"
    PROVISIONED = "provisioned"
    VALIDATED = "validated"
    BURNED_IN = "burned_in"
    ADMITTED = "admitted"
    QUARANTINED = "quarantined"
    DRAINED = "drained"
    MAINTENANCE = "maintenance"
    RMA = "rma"
    RETIRED = "retired"
