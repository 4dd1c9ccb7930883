"""Drift: what moved on a node since it was last brought into its declared state. Pure: nothing here reaches a node, a role or the store."""
