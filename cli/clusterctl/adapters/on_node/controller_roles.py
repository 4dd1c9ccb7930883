"""Which roles work from the controller, as each role declares it in `meta/controller.yml`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import yaml

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.site_content import role_dirs
from clusterctl.core.where_ansible_runs import ControllerNeeds
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

DECLARATION = "controller.yml"
# what a task does on another machine than its node, or reads of other nodes or of what no node gets
_ELSEWHERE = re.compile(
    r"^\s*(?:- )?(?:delegate_to|run_once|local_action):|\b(?:hostvars|ansible_play_hosts\w*|groups|bmc_(?:readonly_)?(?:user|password))\b",
    re.MULTILINE,
)


def controller_needs(roles: Iterable[str]) -> dict[str, ControllerNeeds]:
    """What each of `roles` does from the controller; a role without a declaration whose tasks name other machines, or accounts of BMCs, always needs it.

    Raises:
        ConfigError: a declaration cannot be read.
    """
    folders = role_dirs()
    found = {role: next((d / role for d in folders if (d / role).is_dir()), None) for role in roles}
    return {role: _needs(folder) for role, folder in found.items() if folder is not None}


def playbook_order() -> tuple[str, ...]:
    """The roles that provision.yml lists, in their order."""
    plays = yaml.safe_load((content_dir() / "playbooks" / "provision.yml").read_text(encoding="utf-8"))
    return tuple(str(entry["role"]) for entry in plays[0]["roles"])


def _needs(folder: Path) -> ControllerNeeds:
    file = folder / "meta" / DECLARATION
    if not file.is_file():
        return ControllerNeeds(always=any(_ELSEWHERE.search(text) for text in _sources(folder)))
    try:
        declared = yaml.safe_load(file.read_text(encoding="utf-8"))
        names = declared["from_controller_for"]
    except (yaml.YAMLError, KeyError, TypeError) as e:
        raise ConfigError(detail=f"{file}: {e}", hint="write from_controller_for: [variables of the role]") from e
    return ControllerNeeds(variables=tuple(str(name) for name in names))


def _sources(folder: Path) -> Iterable[str]:
    for part in ("tasks", "handlers", "vars", "defaults", "templates"):
        for path in (folder / part).rglob("*"):
            if path.is_file():
                yield path.read_text(encoding="utf-8", errors="replace")
