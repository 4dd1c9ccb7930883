"""`python -m clusterctl`."""

from clusterctl.main import run

run()
