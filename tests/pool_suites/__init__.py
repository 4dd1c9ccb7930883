"""The pools on real schedulers, as a target of its own: what ran, what failed, and what was skipped for which reason."""
