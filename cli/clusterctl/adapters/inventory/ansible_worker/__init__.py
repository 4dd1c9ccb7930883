"""Ansible's own inventory, variable manager and templating, in a process of its own: JSON in, JSON out.

The only package that imports ansible. `python -m clusterctl.adapters.inventory.ansible_worker` reads one `wire.Request` from stdin.
"""
