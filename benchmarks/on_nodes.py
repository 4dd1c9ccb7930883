"""on_nodes.py SITE_DIR ARTIFACTS ROLE,... NODE...: runs playbooks/provision.yml on the nodes themselves, as `provision` does.

The last line of its output is the CPU time in seconds that it had used before the play began, which is the same for any number of nodes.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

from clusterctl.adapters import config
from clusterctl.adapters.ansible.playbook_request import PlaybookRequest
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.model.playbook_result import PlaybookStatus
from clusterctl.workflows.provision.apply_on_nodes import ApplyOnNodes

if __name__ == "__main__":
    folder, artifacts, tags, *names = sys.argv[1:]
    site = config.read_config(start=Path(folder))
    nodes = load_nodes(site.inventory, ",".join(names))
    changed = []
    on_nodes = ApplyOnNodes(site.state_dir, "bench", site.inventory)
    request = PlaybookRequest("provision.yml", site.inventory, tuple(names), tuple(tags.split(",")))
    before = os.times()
    done, unsuited = on_nodes.play(request, nodes, Path(artifacts), lambda e: changed.append(e.role) if e.changed else None, lambda: False)
    counts = {name: (host.ok, host.changed) for name, host in sorted(done.hosts.items())}
    print(f"ok and changed: {counts}; changed by {sorted(set(changed))}; unsuited: {dict(unsuited)}")
    print(before.user + before.system + before.children_user + before.children_system)
    good = done.status is PlaybookStatus.COMPLETED and not unsuited and all(h.status.value == "ok" for h in done.hosts.values())
    sys.exit(0 if good and not changed else 1)
