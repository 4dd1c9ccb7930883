"""The simulated machine of a lab node. Standard library only: it runs inside the node as /opt/clusterctl-lab/simulator."""
