"""SSH to many nodes at once: the only package that imports asyncssh."""
