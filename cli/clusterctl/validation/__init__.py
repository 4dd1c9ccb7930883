"""Verify nodes against their spec in one round trip each; changes nothing."""

from clusterctl.validation.run import validate, validate_each
from clusterctl.validation.settings import Settings

__all__ = ["Settings", "validate", "validate_each"]
