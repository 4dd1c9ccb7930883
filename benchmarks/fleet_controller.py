"""The measured process: resolve the specs, ask every node, store every finding. Prints what it saw as JSON."""

from __future__ import annotations

import json
import resource
import sys
from pathlib import Path

from clusterctl.config import Config
from clusterctl.spec.load import load_nodes
from clusterctl.validation import Settings
from clusterctl.validation.recorded import read_only_run, record_each


def cpu_s() -> float:
    """CPU seconds of this process and its finished children."""
    return sum(u.ru_utime + u.ru_stime for u in map(resource.getrusage, (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)))


def main(state_dir: Path, layers: tuple[Path, ...]) -> int:
    """Ask all nodes of the layers once, the way `clusterctl drift all` does."""
    config = Config(root=state_dir, inventory=layers, state_dir=state_dir, operator="bench")
    nodes = load_nodes(layers, "all")
    loaded = cpu_s()
    with read_only_run("drift", "all", nodes, config) as run:
        record_each(run, nodes, config, Settings(), lambda _found: None)
    print(json.dumps({"exit_code": int(run.code), "load_cpu_s": loaded, "run_id": run.rundir.id}))
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), tuple(map(Path, sys.argv[2:]))))
