"""What happens to a node in the middle of a run, and how it ends. Each happens to a real container with a real sshd and systemd."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from clusterctl.model.exit_codes import ExitCode

if TYPE_CHECKING:
    from collections.abc import Mapping

_STALL_S = 20
_SSHD = "pkill {} -x sshd"
# What the kernel ends when memory is short, and what an operator's `kill` of a run that seems to hang does.
_WORKING = "pgrep -f 'ansible-playboo[k]|burnin_agent.py ru[n]'"
_WORK = f"{_WORKING} | xargs kill -9"
_SESSIONS = "for p in /proc/[0-9]*; do grep -q '^sshd: root' $p/cmdline 2>/dev/null && kill -9 ${p#/proc/}; done; true"
# Where Ansible and the burn-in write.
_FOLDERS = "/tmp /var/tmp ~/.ansible /var/lib/clusterctl"
# As a root file system after an I/O error, with errors=remount-ro. Mounts of their own: what is open for writing keeps / from being remounted.
_KEPT = "/etc /home /opt /root /tmp /usr /var"
_READ_ONLY = f"for f in {_KEPT}; do mount --rbind $f $f && mount -o remount,bind,ro $f || exit 1; done"
_FULL = f"for f in {_FOLDERS}; do mkdir -p $f && mount -t tmpfs -o size=16k,mode=1777 tmpfs $f && head -c 1M /dev/zero > $f/full; done 2>/dev/null; true"


@dataclass(frozen=True)
class NodeFault:
    """One kind of failure.

    Attributes:
        begin, end: shell commands on the node, or `podman WORD` of it where the node itself cannot.
        comes: how to see that what it hits is on the node; empty = what its phase waits for.
        passes: it is over by itself within seconds, and the run must admit the node.
        exit_codes: that a run with such a node may end with.
    """

    begin: str
    end: str = "true"
    comes: str = ""
    passes: bool = False
    exit_codes: frozenset[ExitCode] = frozenset(
        {ExitCode.UNREACHABLE, ExitCode.ROLE_FAILED, ExitCode.GATE_FAILED, ExitCode.VALIDATOR_FAILED}
    )

    def happen(self, node: str) -> None:
        """Begin it."""
        _do(node, self.begin)

    def stop(self, node: str) -> None:
        """End it, also if it never began."""
        _do(node, self.end)


FAULTS: Mapping[str, NodeFault] = {
    "stopped": NodeFault("podman stop --time 0", "podman start"),
    "paused": NodeFault("podman pause", "podman unpause"),
    "sshd_killed": NodeFault(f"systemctl stop ssh.socket ssh; {_SESSIONS}", "systemctl start ssh"),
    "host_key_changed": NodeFault(
        "cd /etc/ssh && mkdir -p kept && cp -p ssh_host_* kept && rm ssh_host_* && ssh-keygen -qt ed25519 -N '' -f ssh_host_ed25519_key"
        f" && systemctl restart ssh; {_SESSIONS}",
        "cd /etc/ssh && mv -f kept/* . && rmdir kept && systemctl restart ssh",
    ),
    "disk_full": NodeFault(_FULL, f"for f in {_FOLDERS}; do umount $f; done; true"),
    "read_only": NodeFault(_READ_ONLY, f"for f in {_KEPT}; do umount -l $f; done; true"),
    "rebooted": NodeFault("podman restart --time 0"),
    "work_killed": NodeFault(_WORK, comes=_WORKING),
    "sessions_cut": NodeFault(_SESSIONS, passes=True, exit_codes=frozenset({ExitCode.OK})),
    "sshd_restarted": NodeFault("systemctl restart ssh", passes=True, exit_codes=frozenset({ExitCode.OK})),
    "stalled": NodeFault(
        f"{_SSHD.format('-STOP')}; setsid sh -c 'sleep {_STALL_S}; {_SSHD.format('-CONT')}' > /dev/null 2>&1 < /dev/null &",
        _SSHD.format("-CONT") + "; true",
        passes=True,
        exit_codes=frozenset({ExitCode.OK}),
    ),
}


def _do(node: str, what: str) -> None:
    program, _, rest = what.partition(" ")
    words = ["podman", *rest.split(), node] if program == "podman" else ["podman", "exec", node, "sh", "-c", what]
    subprocess.run(words, check=True, capture_output=True, timeout=120)
