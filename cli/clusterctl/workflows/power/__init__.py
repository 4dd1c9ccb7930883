"""Switching drained nodes by their BMCs: one node, the turns of a rack, the recorded run."""
