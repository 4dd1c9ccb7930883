"""Burn-in: what to measure, on whom, in which order, and what the measurements are."""
