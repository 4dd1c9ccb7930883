"""Verify nodes against their spec in one round trip each; changes nothing."""

from clusterctl.adapters.validators.settings import ValidationSettings
from clusterctl.adapters.validators.validate import validate, validate_each

__all__ = ["ValidationSettings", "validate", "validate_each"]
