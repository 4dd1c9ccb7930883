"""A fabric of ibsim whose ports have an M_Key, which those of ibsim have not: a library before the simulator's adds it (tests/cross_check/m_key_port.c)."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

from cross_check.compiled import compiled
from support.ib_fabric import Fabric, missing_tools
from support.unpacked_tools import which

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl_validators.sources import CommandResult

KEY = "0x1234abcd5678ef01"
# ibsim-run loses the simulator's library where another one is preloaded.
_PRELOADING = ("sh", "-c", 'LD_PRELOAD="$0:$LD_PRELOAD" exec "$@"')


def missing_for_keys() -> list[str]:
    """The programs that a keyed fabric needs and that are absent."""
    return [*missing_tools(), *(tool for tool in ("smpquery", "saquery") if which(tool) is None), *([] if shutil.which("gcc") else ["gcc"])]


class KeyedFabric(Fabric):
    """As Fabric. `key` 0x0: the subnet manager has none, but a protection level."""

    def __init__(self, folder: Path, key: str, level: int) -> None:
        super().__init__(folder, settings=f"m_key {key}\nm_key_protection_level {level}\n")
        self._ports = {"M_KEY": key, "M_KEY_LEVEL": str(level)}
        self._library = str(compiled("m_key_port.c", linker=("-ldl",)))

    def run(self, host: int | str, argv: Sequence[str], timeout_s: float = 20) -> CommandResult:
        """As Fabric.run: a process without the key."""
        return super().run(host, [*_PRELOADING, self._library, *argv], timeout_s)

    def _env(self, host: str) -> dict[str, str]:
        return super()._env(host) | self._ports

    def _start(self, argv: list[str], stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
        if "opensm" in argv:
            at = argv.index("opensm")
            argv = [*argv[:at], "env", "M_KEY_MANAGER=1", *_PRELOADING, self._library, *argv[at:]]
        return super()._start(argv, stdin)
