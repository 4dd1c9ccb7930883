"""The simulated machine of a lab node. Uses the standard library only, because it runs inside the node, at /opt/clusterctl-lab/simulator."""

if __name__ == "simulator":  # on a node
    from .late_inspect import postpone

    postpone()
