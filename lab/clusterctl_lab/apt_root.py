"""An apt of its own in a folder: repositories made of facts, a list of installed packages, and what an installation would do."""

from __future__ import annotations

import os
import re
import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.model.errors import LabError
from clusterctl_lab.apt_index import offered, status_stanza, write_repository

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path

    from clusterctl_lab.package_facts import PackageFact

_TIMEOUT_S = 60
_CHANGE = re.compile(r"^(?P<what>Inst|Remv) (?P<name>\S+)(?: \[[^]]*\])?(?: \((?P<version>\S+))?")
# With its own Dir apt reads nothing of this machine's /etc/apt. The caches are in memory: the list of installed packages changes with every step.
_CONFIG = """Dir "{root}";
Dir::Bin::methods "/usr/lib/apt/methods";
Dir::State::status "{root}/status";
Dir::Cache::pkgcache "";
Dir::Cache::srcpkgcache "";
Debug::NoLocking "true";
APT::Architecture "{architecture}";
APT::Architectures "{architecture}";
APT::Sandbox::User "";
Acquire::Languages "none";
"""


@dataclass(frozen=True, slots=True)
class Simulation:
    """What `apt-get -s install` would do; `reason` is apt's own, empty if it would succeed."""

    installed: Mapping[str, str] = field(default_factory=dict)
    removed: tuple[str, ...] = ()
    reason: str = ""


class AptRoot:
    """The apt of a node with this release and architecture (amd64 or arm64), which starts with the packages of a minimal server.

    Raises:
        LabError: this machine has no apt, or its apt does not accept the metadata.
    """

    def __init__(self, root: Path, facts: Sequence[PackageFact], release: str, architecture: str = "amd64") -> None:
        self._root = root
        offered_here = [f for f in facts if release in f.releases and architecture in f.architectures]
        self._facts = {(f.name, f.version): f for f in offered_here}
        for folder in ("etc/apt/preferences.d", "etc/apt/apt.conf.d", "var/lib/apt/lists/partial", "var/cache/apt/archives/partial"):
            (root / folder).mkdir(parents=True)
        (root / "apt.conf").write_text(_CONFIG.format(root=root, architecture=architecture), encoding="utf-8")
        self._write_repositories(offered_here, release)
        self._installed: dict[str, str] = {}
        self.reset()
        done = self._apt_get("update")
        if done.returncode:
            raise LabError(
                detail=f"apt refuses the metadata: {_reason(done)}", hint="a fact of lab/clusterctl_lab/packages is not well-formed"
            )

    @property
    def installed(self) -> Mapping[str, str]:
        """Package -> version."""
        return dict(self._installed)

    def reset(self, installed: Mapping[str, str] | None = None) -> None:
        """Return to the packages of a minimal server, and to `installed` on it, without preferences."""
        # The first version of each: an older one than the newest of its repository.
        self._installed = {}
        for fact in self._facts.values():
            if fact.base:
                self._installed.setdefault(fact.name, fact.version)
        self._installed |= installed or {}
        self._write_status()
        for file in self._preferences.iterdir():
            file.unlink()

    def write_preferences(self, name: str, text: str) -> None:
        """Write a file of /etc/apt/preferences.d."""
        (self._preferences / name).write_text(text, encoding="utf-8")

    def simulate(self, packages: Iterable[tuple[str, str]], *, recommends: bool) -> Simulation:
        """What the installation would do, with the options that Ansible's module apt passes for our roles."""
        words = [f"{name}={version}" if version else name for name, version in packages if version or name not in self._installed]
        allowed = (
            "--allow-downgrades",
            "--allow-change-held-packages",
            "--install-recommends" if recommends else "--no-install-recommends",
        )
        done = self._apt_get("--simulate", "--yes", *allowed, "install", *words)
        if done.returncode:
            return Simulation(reason=_reason(done))
        changes = [m for m in map(_CHANGE.match, done.stdout.splitlines()) if m]
        return Simulation(
            installed={m["name"]: m["version"] for m in changes if m["what"] == "Inst"},
            removed=tuple(m["name"] for m in changes if m["what"] == "Remv"),
        )

    def apply(self, simulation: Simulation) -> None:
        """Enter the result of a simulation into the list of installed packages."""
        for name in simulation.removed:
            self._installed.pop(name, None)
        self._installed |= simulation.installed
        self._write_status()

    @property
    def _preferences(self) -> Path:
        return self._root / "etc/apt/preferences.d"

    def _write_repositories(self, facts: Sequence[PackageFact], release: str) -> None:
        lines = []
        for (name, origin), own in offered(facts, release).items():
            write_repository(self._root / "repositories" / name, origin, own)
            lines.append(f"deb [trusted=yes] file:{self._root}/repositories/{name} ./\n")
        (self._root / "etc/apt/sources.list").write_text("".join(lines), encoding="utf-8")

    def _write_status(self) -> None:
        stanzas = [status_stanza(self._facts[item]) for item in self._installed.items()]
        (self._root / "status").write_text("\n".join(stanzas), encoding="utf-8")

    def _apt_get(self, *words: str) -> subprocess.CompletedProcess[str]:
        environment = {**os.environ, "APT_CONFIG": str(self._root / "apt.conf"), "LC_ALL": "C.UTF-8"}
        argv = ["apt-get", "--quiet=1", *words]
        try:
            return subprocess.run(argv, capture_output=True, text=True, check=False, timeout=_TIMEOUT_S, env=environment)
        except FileNotFoundError as e:
            raise LabError(detail="apt-get: not found", hint="packages are resolved by apt: run this on Debian or Ubuntu") from e


def _reason(done: subprocess.CompletedProcess[str]) -> str:
    """The explanation of apt, without its advice and the list of what is installed."""
    lines = (done.stdout + done.stderr).splitlines()
    starts = [i for i, line in enumerate(lines) if line.startswith("The following packages have unmet")]
    kept = lines[starts[0] + 1 :] if starts else [line for line in lines if line.startswith("E:")]
    return "\n".join(" ".join(line.split()) for line in kept if line.strip())
