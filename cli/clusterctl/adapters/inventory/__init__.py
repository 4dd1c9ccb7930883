"""From an inventory and a target to nodes with their resolved, checked declared state."""
