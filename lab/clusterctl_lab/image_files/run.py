"""run.py NAME [ARGUMENTS]: runs a program of the simulated machine; a link to this file runs the program of the link's name."""

import sys

sys.path.insert(0, "/opt/clusterctl-lab")
from importlib import import_module

called = sys.argv[0].rpartition("/")[2]
if called == "run.py":
    del sys.argv[0]
    called = sys.argv[0]
sys.exit(import_module("simulator." + called.replace("-", "_")).main(sys.argv, ""))
