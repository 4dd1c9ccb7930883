"""A virtual rack: containers with real systemd, sshd and apt on simulated hardware."""
