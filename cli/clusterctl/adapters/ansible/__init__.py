"""Runs playbooks with ansible-runner; the results are typed events and outcomes."""
