"""Applies roles on the node itself: what the controller sends there with Ansible and its content. Standard library only, and nothing of clusterctl."""
