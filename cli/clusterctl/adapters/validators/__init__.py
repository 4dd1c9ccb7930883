"""Verify nodes against their spec in one round trip each; changes nothing."""

from clusterctl.adapters.validators.run import validate, validate_each
from clusterctl.adapters.validators.settings import Settings

__all__ = ["Settings", "validate", "validate_each"]
