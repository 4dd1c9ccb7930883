"""What the settings of all gates have in common: `gates_settings.<gate>` is one such model for each gate."""

from __future__ import annotations

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field

from clusterctl.model.level import Level  # noqa: TC001 pydantic evaluates the annotations

V = TypeVar("V", bound=int)

Count = Annotated[int, Field(ge=0)]
Seconds = Annotated[int, Field(gt=0, le=86400)]


class GateSettings(BaseModel):
    """Base of the settings of a gate: every field has a default, unknown keys are errors, values do not change.

    Attributes:
        timeout_s: for one command of the gate.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)

    timeout_s: Seconds | dict[Level, Seconds] = 600


def at_level(setting: V | dict[Level, V], level: Level) -> V:
    """A setting's value at a burn-in level; a mapping must name the level (the profile's loader checks it)."""
    return setting[level] if isinstance(setting, dict) else setting
