"""Start a program of the simulated machine: run.py NAME [ARGUMENTS], or under NAME by a link to this file."""

import sys

sys.path.insert(0, "/opt/clusterctl-lab")
from importlib import import_module

called = sys.argv[0].rpartition("/")[2]
if called == "run.py":
    del sys.argv[0]
    called = sys.argv[0]
sys.exit(import_module("simulator." + called.replace("-", "_")).main(sys.argv, ""))
