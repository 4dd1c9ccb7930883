"""A virtual rack: containers with real systemd, sshd and apt, and simulated hardware under them."""
