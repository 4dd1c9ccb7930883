"""Verify a node against its declared spec; pytest + testinfra, on the node, in one round trip.

Runs with any Python from 3.8 on and needs nothing but the standard library, pytest and testinfra.
"""
