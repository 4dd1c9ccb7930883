"""`playbooks/provision.yml --check` through clusterctl's runner: SITE_DIR ARTIFACTS NODE... Prints how many files the run left."""

from __future__ import annotations

import sys
from pathlib import Path

from clusterctl import config
from clusterctl.outcome import RunStatus
from clusterctl.runner import PlaybookRequest, run_playbook

if __name__ == "__main__":
    site, artifacts, *names = sys.argv[1:]
    request = PlaybookRequest("provision.yml", config.load(start=Path(site)).inventory, tuple(names), check=True)
    done = run_playbook(request, Path(artifacts))
    print(sum(1 for f in Path(artifacts).rglob("*") if f.is_file()))
    sys.exit(0 if done.status is RunStatus.COMPLETED else 1)
