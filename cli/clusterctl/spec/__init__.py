"""From inventory layers to nodes with a resolved, checked, digested spec."""
