"""Verify nodes against their spec in one round trip each; changes nothing."""

from clusterctl.adapters.validators.validate import validate, validate_each
from clusterctl.adapters.validators.validation_settings import ValidationSettings

__all__ = ["ValidationSettings", "validate", "validate_each"]
