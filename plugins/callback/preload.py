"""Callback plug-in: what each task's process would import comes before the first of them is forked."""

from __future__ import annotations

import gc
import importlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ansible import constants, context
from ansible.errors import AnsibleError
from ansible.plugins import loader
from ansible.plugins.callback import CallbackBase

if TYPE_CHECKING:
    from collections.abc import Iterator

# Assumed: far more than the modules of all roles take, with room for what else is written meanwhile.
_LEAST_FREE_BYTES = 64 << 20

# what the process of a task imports for the first module that it starts, and for the first plug-in of ansible-core that a template names
_IMPORTED = (
    "ansible.module_utils._internal._json._profiles._module_legacy_c2m",
    "ansible.module_utils._internal._json._profiles._module_legacy_m2c",
    "ansible_collections.ansible.builtin.plugins.filter",
    "ansible_collections.ansible.builtin.plugins.lookup",
    "ansible_collections.ansible.builtin.plugins.test",
)

_CHECKS = frozenset({"validate_argument_spec", "ansible.builtin.validate_argument_spec", "ansible.legacy.validate_argument_spec"})
# tags that select more than what has them
_MANY = frozenset({"all", "tagged", "untagged"})

DOCUMENTATION = r"""
name: preload
type: aggregate
short_description: Load plug-ins before the first task, and check the arguments of selected roles only
description:
  - Ansible forks a process for each task, which loads the plug-ins that the task needs and forgets them with its end. For one filter of a collection it
    loads all filters of that collection. What its parent has loaded, it need not load.
  - Ansible checks the arguments of every role of a play, whatever C(--tags) selects. Those of a role of which nothing is selected are not checked.
  - Where CLUSTERCTL_BUILT_MODULES names a folder, modules that Ansible has packed for it are kept there, and not packed again by the next run; not where its disk has less than 64 MiB free.
  - Changes no result of a role that runs. What cannot be loaded here is loaded, or reported, by the task that needs it.
author: clusterctl authors
"""


class CallbackModule(CallbackBase):  # type: ignore[misc] # ansible-core has no types
    """Loads plug-ins when the playbook starts; no events."""

    CALLBACK_VERSION = 2.0
    CALLBACK_TYPE = "aggregate"
    CALLBACK_NAME = "clusterctl.gpu.preload"
    CALLBACK_NEEDS_ENABLED = True

    def v2_playbook_on_start(self, playbook: Any) -> None:
        """Load them; what is loaded is shared with the forked processes, and the garbage collector leaves it alone, so that it stays shared."""
        del playbook
        _share_built_modules()
        for name in _IMPORTED:
            with suppress(ImportError):
                importlib.import_module(name)
        for plugins in (loader.action_loader, loader.filter_loader, loader.test_loader, loader.shell_loader):
            with suppress(AnsibleError, ImportError):
                for _ in plugins.all(class_only=True):
                    pass
        with suppress(AnsibleError, KeyError, ImportError):
            loader.filter_loader.get("clusterctl.gpu.preload")  # no filter has this name: all files of the collection are searched for it
        gc.collect()
        gc.freeze()

    def v2_playbook_on_play_start(self, play: Any) -> None:
        """Remove the check of the arguments of roles of which this run selects nothing; each takes a process."""
        selected = {str(tag) for tag in context.CLIARGS.get("tags", ())}
        if not selected or selected & _MANY:
            return
        for role in play.roles:
            with suppress(AttributeError, IndexError):  # of another ansible-core: its check stays
                first = role.get_task_blocks()[0].block
                if first[0].action in _CHECKS and not any(_may_run(task, selected) for task in list(_tasks(role.get_task_blocks()))[1:]):
                    del first[0]


def _tasks(items: list[Any]) -> Iterator[Any]:
    """The tasks of blocks in blocks, in their order."""
    for item in items:
        if hasattr(item, "block"):
            yield from _tasks([*item.block, *item.rescue, *item.always])
        else:
            yield item


def _may_run(task: Any, selected: set[str]) -> bool:
    """Whether its tags select it; a template as a tag may."""
    return any(tag in selected or tag == "always" or "{" in tag for tag in map(str, task.tags))


def _share_built_modules() -> None:
    """Ansible finds what a module imports by parsing it, and packs both; it keeps that for a run. No arguments of a task are in it.

    On a disk that is almost full they are kept for this run only, in memory: a module that cannot be written fails its task.
    """
    folder = os.environ.get("CLUSTERCTL_BUILT_MODULES", "")
    if folder:
        with suppress(OSError):
            Path(folder).mkdir(mode=0o700, exist_ok=True)
            disk = os.statvfs(folder)
            if disk.f_bavail * disk.f_frsize >= _LEAST_FREE_BYTES:
                (Path(constants.DEFAULT_LOCAL_TMP) / "ansiballz_cache").symlink_to(folder)
