"""The simulated machine of a lab node. Uses the standard library only, because it runs inside the node, at /opt/clusterctl-lab/simulator."""
