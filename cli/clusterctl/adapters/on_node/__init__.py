"""Runs playbooks on the nodes themselves: one SSH exec per node instead of a process of the controller per task."""
