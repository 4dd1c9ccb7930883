"""Real programs of Debian over the machine that the lab simulates, compared with what the simulator prints: `make cross-check`."""
