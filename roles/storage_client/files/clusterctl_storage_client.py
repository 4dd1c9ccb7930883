#!/usr/bin/python3
"""Written by clusterctl, role storage_client; changes are overwritten. The declared state is in /etc/clusterctl/storage-client.json.

clusterctl-storage-client apply|check: one line per setting that differs (differed) from the declared one.
clusterctl-storage-client mounts [--required]: one line `unit TAB reason` per mount that differs from the declared one or does not respond.
"""

from __future__ import annotations

import argparse
import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import time
from ipaddress import ip_address
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

CONFIG = "/etc/clusterctl/storage-client.json"
SYS_MODULE, PROC_SYS = "/sys/module", "/proc/sys/"
LOCK = "/run/clusterctl-storage-client.lock"
TOUCH_S = 30
FLAGS = {"ro", "nosuid", "nodev", "noexec", "noatime", "nodiratime", "allow_other", "hard", "soft"}
OPPOSITES = {"rw": "ro", "suid": "nosuid", "dev": "nodev", "exec": "noexec", "atime": "noatime"}
# Without flock, locks of one node do not hold on the others; with localflock they hold on that node only.
LUSTRE = ("flock", "localflock")
# name@fsid.filesystem=/path
CEPH = re.compile(r"([^@/]+)@([^./]*)\.([^=/]+)=(.*)")
# Runs in its own process, because it may never return.
TOUCH = """
import os, sys
try:
    fd = os.open(sys.argv[1], os.O_RDONLY | os.O_DIRECTORY)
    here = [l.split()[1] for l in open("/proc/self/fdinfo/%d" % fd) if l.startswith("mnt_id:")]
    last = [l.split()[0] for l in open("/proc/self/mountinfo") if l.split()[4] == sys.argv[1]][-1:]
    if here != last:
        sys.exit("is not a mount")
    os.fstatvfs(fd)
    next(os.scandir(fd), None)
except OSError as e:
    sys.exit(e.strerror)
"""


class UnansweredError(Exception):
    """The node does not answer, or rejects a setting."""


def lines_of(path: str) -> list[list[str]]:
    """The words of each line of a /proc file."""
    return [line.split() for line in Path(path).read_text(encoding="utf-8", errors="replace").splitlines()]


def wrong_options(kind: str, declared: list[str], effective: list[str]) -> list[str]:
    """The declared options that are not in force, of those that the kernel shows in a comparable form."""
    shown = dict(option.partition("=")[::2] for option in effective)
    wrong = []
    for option in declared:
        key, _, value = option.partition("=")
        if key in FLAGS and key not in shown:
            wrong.append(option)
        elif OPPOSITES.get(key) in shown:
            wrong.append(OPPOSITES[key])
        elif kind == "lustre" and key in LUSTRE and key not in shown:
            wrong.append(f"no {key}")
        elif kind == "lustre" and key == "noflock":
            wrong += [option for option in LUSTRE if option in shown]
        elif kind == "nfs":
            key = {"nfsvers": "vers"}.get(key, key)
            key, value = ("proto", key) if key in {"tcp", "udp", "rdma"} else (key, value)
            found = shown.get(key, "1" if key == "nconnect" else "")
            if key == "vers" and found.partition(".")[0] == value:
                continue
            # tcp6 over IPv6; of several kinds of security, the one that the server has.
            same = found in {value, value + "6"} if key == "proto" else found in value.split(":" if key == "sec" else None)
            if key in {"vers", "proto", "nconnect", "sec"} and not same:
                wrong.append(f"{key}={found or 'none'}")
    return wrong


def mount_problem(mount: dict[str, Any], table: list[list[str]]) -> str:
    """How a mount in /proc/self/mounts differs from the declared one; empty if it does not."""
    found = [words for words in table if words[1] == mount["path"]]
    if not found:
        return "is not mounted"
    device, _, fstype, options = found[-1][:4]
    # FUSE file systems may omit their name.
    types = {mount["fstype"], "fuse." + mount["fstype"], re.sub(r"^fuse\..*", "fuse", mount["fstype"])}
    # mount.fuse.ceph starts ceph-fuse, which shows its own name as type and as source.
    by_fuse = mount["kind"] == "cephfs" and mount["fstype"] == "fuse.ceph" and fstype == "fuse.ceph-fuse"
    if not by_fuse and fstype not in types | ({"nfs4"} if mount["kind"] == "nfs" else set()):
        return f"is {fstype}, not {mount['fstype']}"
    if mount["kind"] not in {"weka", "juicefs"} and not by_fuse and not same_source(mount["kind"], mount["source"], device):
        return f"is {device}, not {mount['source']}"
    wrong = wrong_options(mount["kind"], mount["options"], options.split(","))
    return f"runs with {', '.join(wrong)}" if wrong else ""


def same_source(kind: str, declared: str, shown: str) -> bool:
    """Whether a declared and a shown source are the same. What the mount helper looked up, such as the address of a host, cannot be compared."""
    if plain(declared) == plain(shown):
        return True
    if kind == "lustre":
        # mount.lustre replaces names of hosts by addresses, and leaves out the number of a first network.
        (wanted, path), (found, shown_path) = lustre(declared), lustre(shown)
        # A name in the declaration stands for whatever address is shown in its place.
        known = [(host if is_address(host) or i >= len(found) else found[i][0], network) for i, (host, network) in enumerate(wanted)]
        return (known, path) == (found, shown_path)
    return kind == "cephfs" and same_ceph(declared, shown)


def plain(source: str) -> str:
    """A source without parts that the kernel writes differently."""
    return (source.rstrip("/") or source).removeprefix("/dev/")


def lustre(source: str) -> tuple[list[tuple[str, str]], str]:
    """Address and network of each server, and the path. A server without a network is on tcp."""
    servers, _, path = source.partition(":/")
    rows = [server.partition("@") for server in re.split("[,:]", servers)]
    return [(host, re.sub(r"(?<=[a-z])0$", "", network) or "tcp") for host, _, network in rows], path.strip("/")


def same_ceph(declared: str, shown: str) -> bool:
    """mount.ceph fills in cluster and monitors from ceph.conf; for a kernel before 5.17 it writes the older form, `MONITORS:/path`."""
    wanted, found = CEPH.fullmatch(declared), CEPH.fullmatch(shown)
    if wanted and found:
        same = (wanted[1], wanted[3], wanted[4].strip("/")) == (found[1], found[3], found[4].strip("/"))
        return same and wanted[2] in {"", found[2]}
    named, separator, path = ("", ":/", wanted[4]) if wanted else declared.partition(":/")
    servers, shown_separator, shown_path = shown.partition(":/")
    if not separator or not shown_separator or path.strip("/") != shown_path.strip("/"):
        return False
    hosts = monitors(named)
    return not all(map(is_address, hosts)) or hosts == monitors(servers)


def monitors(text: str) -> list[str]:
    """The hosts of a list of monitors, without their ports."""
    return sorted(re.sub(r"(?<=[\].\w]):\d+$", "", host).strip("[]") for host in text.split(","))


def is_address(host: str) -> bool:
    """Whether it is an address and not a name."""
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def touch(mounts: list[dict[str, Any]]) -> Iterator[tuple[str, str]]:
    """(unit, error) of each mount that does not respond; all are tested in parallel."""
    started = [
        (m, subprocess.Popen([sys.executable, "-IS", "-c", TOUCH, m["path"]], stderr=subprocess.PIPE, text=True, start_new_session=True))
        for m in mounts
    ]
    start = time.monotonic()
    for mount, process in started:
        limit_s = min(mount["timeout_s"], TOUCH_S)
        try:
            _, error = process.communicate(timeout=max(0.1, start + limit_s - time.monotonic()))
        except subprocess.TimeoutExpired:
            # A process that sleeps in the kernel remains; nothing here waits for it.
            os.killpg(process.pid, signal.SIGKILL)
            process.stderr.close()
            yield mount["unit"], f"{mount['path']} does not respond within {limit_s} s"
            continue
        if process.returncode:
            yield mount["unit"], f"{mount['path']}: {error.strip()}"


def mounts(declared: dict[str, Any], *, only_required: bool) -> Iterator[str]:
    """The output lines of `mounts`."""
    table = lines_of("/proc/self/mounts")
    chosen = [m for m in declared["mounts"] if m["required"] or not only_required]
    problems = {m["unit"]: f"{m['path']} {p}" for m in chosen if (p := mount_problem(m, table))}
    problems.update(touch([m for m in chosen if m["unit"] not in problems]))
    for unit, text in problems.items():
        yield f"{unit}\t{text}"


def lctl_values(name: str, text: str) -> set[str]:
    """The values that `set_param` would set: of a record the line with the parameter's own name, of several words the one in brackets."""
    lines = [" ".join(line.split()) for line in text.splitlines() if line.strip()]
    own = name.rpartition(".")[2] + ": "
    lines = [line.removeprefix(own) for line in lines if line.startswith(own)] or lines
    chosen = [re.findall(r"(?:^| )\[(\w+)\](?= |$)", line) for line in lines]
    return {words[0] if len(words) == 1 else line for line, words in zip(lines, chosen, strict=True)}


class Tunable:
    """One setting: reads all its values, writes one."""

    def __init__(self, kind: str, name: str) -> None:
        self.kind, self.name = kind, name

    def read(self) -> set[str]:
        """All values in force. Raises UnansweredError if there are none."""
        if self.kind == "lctl":
            return lctl_values(self.name, run("lctl", "get_param", "-n", self.name))
        try:
            return {" ".join(Path(self._file()).read_text(encoding="utf-8").split())}
        except OSError as e:
            raise UnansweredError(f"{self.name}: {e.strerror}") from e

    def write(self, value: str) -> None:
        """Set it."""
        if self.kind == "lctl":
            run("lctl", "set_param", f"{self.name}={value}")
            return
        try:
            Path(self._file()).write_text(value, encoding="utf-8")
        except OSError as e:
            raise UnansweredError(f"{self.name}: {e.strerror}") from e

    def _file(self) -> str:
        if self.kind == "sysctl":
            return PROC_SYS + self.name.translate(str.maketrans("./", "/."))
        devices = [words[2] for words in lines_of("/proc/self/mountinfo") if words[4] == self.name]
        if not devices:
            raise UnansweredError(f"{self.name}: is not mounted")
        return f"/sys/class/bdi/{devices[-1]}/read_ahead_kb"


def run(*argv: str) -> str:
    """The output of a command. Raises UnansweredError if it fails."""
    try:
        return subprocess.run(argv, capture_output=True, text=True, check=True, timeout=60).stdout
    except (OSError, subprocess.SubprocessError) as e:
        raise UnansweredError(f"{argv[0]}: {getattr(e, 'stderr', '') or e}") from e


def settings(declared: dict[str, Any], *, write: bool) -> Iterator[str]:
    """The output lines of `check`, or of `apply`, which also sets the values. Raises UnansweredError if a value cannot be read or set."""
    for module, parameters in declared["module_parameters"].items():
        folder = Path(SYS_MODULE) / module.replace("-", "_") / "parameters"
        for name, value in parameters.items():
            file = folder / name
            # If the module is not loaded, modprobe.d sets the value.
            if not folder.is_dir() or not os.access(file, os.R_OK) or file.read_text(encoding="utf-8").strip() == value:
                continue
            if not file.stat().st_mode & 0o200:
                yield f"{module}.{name}: is not {value}; set at the next load of the module"
                continue
            if write:
                file.write_text(value, encoding="utf-8")
            yield f"{module}.{name}: {value}"
    for tunable in declared["tunables"]:
        setting, expected = Tunable(tunable["kind"], tunable["name"]), " ".join(tunable["value"].split())
        found = setting.read()
        if found == {expected}:
            continue
        if write:
            setting.write(expected)
            found_now = setting.read()
            if found_now != {expected}:
                raise UnansweredError(f"{tunable['name']}: set to {expected}, but is {', '.join(sorted(found_now))}")
        yield f"{tunable['name']}: {', '.join(sorted(found))} -> {expected}"


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(prog="clusterctl-storage-client")
    parser.add_argument("mode", choices=["apply", "check", "mounts"])
    parser.add_argument("--required", action="store_true")
    options = parser.parse_args()
    declared = json.loads(Path(CONFIG).read_text(encoding="utf-8"))
    # Root's alone: whoever may read the file may hold its lock.
    with os.fdopen(os.open(LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600), "w", encoding="utf-8") as lock:
        os.fchmod(lock.fileno(), 0o600)
        fcntl.flock(lock, fcntl.LOCK_EX)
        write = options.mode == "apply"
        found = mounts(declared, only_required=options.required) if options.mode == "mounts" else settings(declared, write=write)
        for line in found:
            sys.stdout.write(line + "\n")
            sys.stdout.flush()
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except UnansweredError as error:
        sys.exit(f"clusterctl-storage-client: {error}")
