"""through_runner.py SITE_DIR ARTIFACTS ROLE,... VARIABLE NODE...: runs playbooks/provision.yml with clusterctl's runner.

Imports nothing of clusterctl that the runner does not need: a program that runs playbooks has the rest anyway.
"""

from __future__ import annotations

import sys
from pathlib import Path

from clusterctl.adapters import config
from clusterctl.adapters.ansible.runner import PlaybookRequest, run_playbook
from clusterctl.model.playbook_result import PlaybookStatus

if __name__ == "__main__":
    site, artifacts, tags, variable, *names = sys.argv[1:]
    inventory = config.read_config(start=Path(site)).inventory
    roles = tuple(tags.split(",")) if tags else ()
    seen = 0

    def count(_event: object) -> None:
        """Receive every event, as `provision` does."""
        global seen  # noqa: PLW0603 a minimal listener
        seen += 1

    request = PlaybookRequest("provision.yml", inventory, tuple(names), roles, extra_args=("-e", variable))
    done = run_playbook(request, Path(artifacts), count)
    print(f"{seen} events, {done.status.value}")
    sys.exit(0 if done.status is PlaybookStatus.COMPLETED and all(h.status.value == "ok" for h in done.hosts.values()) else 1)
