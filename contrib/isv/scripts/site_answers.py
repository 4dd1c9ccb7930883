"""Queries clusterctl, and prints what NVIDIA/ai-cloud-validation reads: one JSON object.

A query that failed is `success: false` with the reason, and a failed check of the suite. What clusterctl never records is
`skipped: true` with the reason, which the suite reports as not shown. Exit status 1 with `success: false`.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    Read = Callable[["Site", argparse.Namespace], dict[str, Any]]


@dataclass(frozen=True)
class Option:
    """A command-line option of a script."""

    name: str
    said: str
    default: str = ""
    required: bool = False


class NotAnsweredError(Exception):
    """clusterctl returned no result; `fields` are what is known anyway."""

    def __init__(self, why: str, **fields: Any) -> None:
        super().__init__(why)
        self.fields = fields


class NotShownError(NotAnsweredError):
    """The record has no data for this: the suite skips it."""


@dataclass
class Site:
    """The folder of a clusterctl.yml. The environment variable CLUSTERCTL names another command than `clusterctl`."""

    folder: Path
    _asked: dict[tuple[str, ...], dict[str, Any]] = field(default_factory=dict)

    def ask(self, *words: str) -> dict[str, Any]:
        """The document that a command prints, whatever its exit status.

        Raises:
            NotAnsweredError: it printed none.
        """
        command = [*shlex.split(os.environ.get("CLUSTERCTL", "clusterctl")), *words, "-o", "json"]
        try:
            done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True, check=False)
        except OSError as e:
            raise NotAnsweredError(f"{command[0]} does not start: {e.strerror}") from e
        try:
            found = json.loads(done.stdout)
        except ValueError as e:
            words_of_it = " ".join(done.stderr.split()) or "it printed nothing"
            raise NotAnsweredError(f"{' '.join(('clusterctl', *words))} ended with {done.returncode}: {words_of_it}") from e
        return dict(found)

    def nodes(self, *words: str) -> list[dict[str, Any]]:
        """The nodes of `clusterctl status` that are not retired."""
        return [n for n in self.ask("status", *words)["nodes"] if n["state"] != "retired"]

    def name_of(self, machine: str) -> str:
        """The node with this name or this serial.

        Raises:
            NotAnsweredError: no node has it.
        """
        for node in self.nodes():
            if machine in (node["name"], node["serial"]):
                return str(node["name"])
        raise NotAnsweredError(f"no recorded node has the name or the serial {machine!r}")

    def labels(self) -> dict[str, dict[str, str]]:
        """Node -> its `node_labels`, from the inventory."""
        return {n["name"]: n["labels"] for n in self.ask("inventory")["nodes"]}


def machine_id(node: dict[str, Any]) -> str:
    """The identity of a machine: its serial; its name until the serial is recorded."""
    return str(node["serial"] or node["name"])


def _require(given: argparse.Namespace, options: Iterable[Option]) -> None:
    """Raises NotAnsweredError for an option that the script cannot do without."""
    for one in options:
        if one.required and not getattr(given, one.name.replace("-", "_")):
            raise NotAnsweredError(f"--{one.name} is not set: {one.said}")


def report(step: str, said: str | None, read: Read, *options: Option) -> int:
    """Parse the command line, query, print; returns the exit status."""
    parser = argparse.ArgumentParser(description=said)
    parser.add_argument("--site", default=os.environ.get("CLUSTERCTL_SITE", "."), help="folder of clusterctl.yml")
    for one in options:
        # isvctl leaves out a word that is empty, as the settings are that a site has not made.
        parser.add_argument(f"--{one.name}", default=one.default, nargs="?", const=one.default, help=one.said)
    given = parser.parse_args()
    answer: dict[str, Any] = {"success": True, "platform": "clusterctl", "test_name": step}
    try:
        _require(given, options)
        answer |= read(Site(Path(given.site)), given)
    except NotShownError as e:
        answer |= {"skipped": True, "skip_reason": str(e)} | e.fields
    except NotAnsweredError as e:
        answer |= {"success": False, "error": str(e)} | e.fields
    print(json.dumps(answer, indent=2))
    return 0 if answer["success"] else 1
