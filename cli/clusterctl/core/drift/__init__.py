"""Drift: what changed on a node since its declared state was last applied. Pure."""
