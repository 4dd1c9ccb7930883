"""SSH connections to many nodes in parallel; the only package that imports asyncssh."""
