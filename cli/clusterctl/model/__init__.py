"""Frozen dataclasses and enums that cross borders. Imports nothing of the other floors."""
