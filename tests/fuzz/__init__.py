"""Hostile inputs for parsers and judge: `make fuzz`."""
