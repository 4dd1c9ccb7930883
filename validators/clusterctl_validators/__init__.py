"""Verify a node against its declared spec: pytest + testinfra, run on the node in one round trip.

Supports Python 3.8 and later. Dependencies: the standard library, pytest and testinfra.
"""
