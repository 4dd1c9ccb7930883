"""`python3 bundle.pyz < request.json`."""

import sys

from clusterctl_validators.run_on_node import main

sys.exit(main(*sys.argv[1:2]))
