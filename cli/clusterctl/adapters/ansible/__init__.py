"""Running playbooks through ansible-runner: requests in, typed events and outcomes out."""
