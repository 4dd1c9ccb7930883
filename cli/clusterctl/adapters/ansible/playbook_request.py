"""A playbook and the nodes to run it on."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.ansible.equivalent_command import equivalent_command
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from clusterctl.core.redact import Redactor

# With more names the printed command line would be unreadable, so they go into a file.
_INLINE_LIMIT = 8


@dataclass(frozen=True, slots=True)
class PlaybookRequest:
    """A playbook and the nodes to run it on.

    Attributes:
        playbook: a file name in `playbooks/` of the content directory, or an absolute path.
        inventory: the layers, common first.
        nodes: the nodes to run on; never empty.
        extra_args: options of ansible-playbook as the user typed them (`--vault-id`, `-e`, everything after `--`).
        extra_vars_file: a file with variables, without secrets.
        verbosity: number of `-v`.
    """

    playbook: str
    inventory: tuple[Path, ...]
    nodes: tuple[str, ...]
    tags: tuple[str, ...] = ()
    check: bool = False
    diff: bool = False
    forks: int = 25
    timeout_s: int = 3600
    extra_args: tuple[str, ...] = ()
    extra_vars_file: Path | None = None
    verbosity: int = 0

    def playbook_path(self) -> Path:
        """The playbook.

        Raises:
            ConfigError: it does not exist.
        """
        named = Path(self.playbook)
        path = named if named.is_absolute() else content_dir() / "playbooks" / named
        if not path.is_file():
            raise ConfigError(detail=f"{path}: no such playbook", hint="reinstall clusterctl")
        return path

    def limit(self, artifacts: Path) -> str:
        """The value of `--limit`: the names, or a file in `artifacts` with them."""
        if len(self.nodes) <= _INLINE_LIMIT:
            return ",".join(self.nodes)
        file = artifacts / "limit"
        file.write_text("\n".join(self.nodes) + "\n", encoding="utf-8")
        return f"@{file.resolve()}"

    def fixed_args(self) -> list[str]:
        """The options that are the same for all nodes."""
        vars_file = [f"-e@{self.extra_vars_file.resolve()}"] if self.extra_vars_file else []
        return [*(["--check"] if self.check else []), *(["--diff"] if self.diff else []), *vars_file, *self.extra_args]

    def command_line(self, artifacts: Path, redact: Redactor) -> str:
        """The equivalent command for people."""
        words = [w for i in self.inventory for w in ("-i", str(i.absolute()))]
        words += ["--limit", self.limit(artifacts)]
        words += ["--tags", ",".join(self.tags)] if self.tags else []
        words += ["--forks", str(self.forks), *self.fixed_args(), str(self.playbook_path())]
        return redact(equivalent_command([redact(w) for w in words], os.environ))
