"""Pools: where admitted nodes go. Backends come by the entry point group `clusterctl.pools`."""
