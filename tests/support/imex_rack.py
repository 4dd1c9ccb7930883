"""Simulated machines with an IMEX daemon: one process each, on its own loopback address."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from support.ports import free_port
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

VERSION = "580.126.20"
# As in a lab node: isolated, with the standard library only and the simulator as a top-level package.
DAEMON = """
import sys
sys.path.insert(0, sys.argv[1])
from simulator import imex, state
state.RUN, state.LOADED = sys.argv[2] + "/run", sys.argv[2] + "/loaded"
sys.exit(imex.main(["nvidia-imex", "-c", sys.argv[2] + "/config.cfg"], sys.argv[3]))
"""
START_TIMEOUT_S = 20.0


@dataclass
class Tray:
    """A machine that runs the daemon. All of 127/8 is local, so its own address must be the first in its nodes file."""

    root: Path
    nodes: list[str]
    port: int
    version: str = VERSION
    cmd_port: int = field(default_factory=free_port)
    process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        for folder in ("run", "loaded/nvidia"):
            (self.root / folder).mkdir(parents=True, exist_ok=True)
        (self.root / "loaded/nvidia/version").write_text(self.version)
        self.write_nodes(self.nodes)
        (self.root / "config.cfg").write_text(
            f"# ours\nSERVER_PORT={self.port}\nIMEX_CMD_ENABLED = 1\nIMEX_CMD_PORT={self.cmd_port}\nDAEMONIZE=0\n"
            f"IMEX_NODE_CONFIG_FILE={self.root}/nodes.cfg\n"
        )
        self.process = subprocess.Popen(
            [sys.executable, "-IS", "-c", DAEMON, str(ROOT / "lab/clusterctl_lab"), str(self.root), self.version],
            stderr=subprocess.PIPE,
            text=True,
        )
        deadline = time.monotonic() + START_TIMEOUT_S
        while not self.flag.exists():
            assert self.process.poll() is None, self.process.communicate()[1]
            assert time.monotonic() < deadline, "the daemon does not start"
            time.sleep(0.02)

    @property
    def flag(self) -> Path:
        return self.root / "run" / "imex"

    def write_nodes(self, nodes: list[str]) -> None:
        (self.root / "nodes.cfg").write_text("# members\n" + "".join(f"{node}\n" for node in nodes))

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, str]:
        """Stop the daemon. Returns its exit status and stderr."""
        assert self.process is not None
        self.process.send_signal(number)
        stderr = self.process.communicate(timeout=START_TIMEOUT_S)[1]
        code, self.process = self.process.returncode, None
        return code, stderr


class Rack:
    def __init__(self, root: Path) -> None:
        self.root, self.port = root, free_port()
        self.trays: list[Tray] = []

    def tray(self, *nodes: str, version: str = VERSION) -> Tray:
        made = Tray(self.root / nodes[0], list(nodes), self.port, version)
        self.trays.append(made)
        made.start()
        return made
