"""The settings of a pool in clusterctl.yml: a pydantic model of each backend, checked where the pool is loaded."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class PoolSettings(BaseModel):
    """Base of the settings of a pool; by itself the settings of a pool that has none.

    Unknown keys and values of another type are errors: nothing is converted or ignored.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)
