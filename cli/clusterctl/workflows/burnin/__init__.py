"""Burn-in: measure nodes, judge the measurements, record both."""
