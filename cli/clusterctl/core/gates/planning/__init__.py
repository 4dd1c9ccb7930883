"""Nodes and their profiles -> the steps of every node: schedule, pairs, devices, coverage."""
