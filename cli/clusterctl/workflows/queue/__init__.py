"""Provisioning by workers: a rack is a shard, a worker takes one after the other."""
