"""Writes the files of a burn-in to its folder on the node, all of them in one task."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from ansible.module_utils.basic import AnsibleModule

if TYPE_CHECKING:
    from collections.abc import Mapping

DOCUMENTATION = r"""
module: burnin_files
short_description: Write the files of a burn-in to its folder on the node
description:
  - Creates the folder and writes files into it, for this user alone. A task for each file would cost every node seconds before each stage of a burn-in.
  - Files of the folder that are not named stay.
options:
  folder: {description: Folder of the run on the node., type: path, required: true}
  files: {description: "Content of each file by its name. Never logged: a plan has the token of its run.", type: dict, required: true}
author: clusterctl authors
"""
EXAMPLES = r"""
- name: Copy the agent and the plan
  clusterctl.gpu.burnin_files:
    folder: /var/lib/clusterctl/burnin/run
    files:
      burnin_agent.py: "{{ lookup('ansible.builtin.file', 'burnin_agent.py', rstrip=false) }}"
      plan.json: "{{ lookup('ansible.builtin.file', '/site/plans/r12-n01.json', rstrip=false) }}"
"""
RETURN = r"""
written: {description: Names of the files that were written., type: list, elements: str, returned: success}
"""


def different(folder: Path, files: Mapping[str, str]) -> list[str]:
    """The names of the files that are not there with this content.

    Raises:
        ValueError: a name leads out of the folder.
    """
    for name in files:
        if name != os.path.basename(name) or name in {"", ".", ".."}:  # noqa: PTH119 Path.name drops a slash at the end
            raise ValueError(f"{name!r} is not the name of a file in the folder")
    return [name for name, content in files.items() if not _holds(folder / name, content)]


def write(folder: Path, files: Mapping[str, str]) -> None:
    """Write files for this user alone, each whole or not at all: an agent may be about to read them."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for name, content in files.items():
        path = folder / name
        incomplete = path.with_name(f".{name}.new")
        incomplete.unlink(missing_ok=True)
        descriptor = os.open(incomplete, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
        with os.fdopen(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(content)
        incomplete.replace(path)


def _holds(path: Path, content: str) -> bool:
    try:
        return not path.is_symlink() and path.read_bytes() == content.encode()
    except OSError:
        return False


def main() -> None:
    """Write what differs."""
    spec = {"folder": {"type": "path", "required": True}, "files": {"type": "dict", "required": True, "no_log": True}}
    module = AnsibleModule(argument_spec=spec, supports_check_mode=True)
    folder, files = Path(module.params["folder"]), module.params["files"]
    try:
        names = different(folder, files)
        if names and not module.check_mode:
            write(folder, {name: files[name] for name in names})
    except (OSError, ValueError) as e:
        module.fail_json(msg=f"the files of the burn-in cannot be written: {e}")
    module.exit_json(changed=bool(names), written=names)


if __name__ == "__main__":
    main()
