"""Burn-in gates: what to measure, on which nodes, in which order, and what the measurements prove.

One file here is one gate: its settings, command line, tool, units and rule. `registry` lists them, those of a site included;
everything else goes through the interface in `gate`. To add a gate, derive from `NodeGate`, `PairGate` or `GroupGate`, and add the name
of its file to `registry`.

    gate, node_gate, pair_gate, group_gate   the interface, and what all gates of a scope share
    gates_profile, baselines                 `gates_levels`, `gates_settings`, `gates_baselines` of a node, checked
    planning/                                nodes and profiles -> the steps of every node
    judging/                                 raw records and profiles -> results
"""
