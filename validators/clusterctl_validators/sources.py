"""Where a probe reads from: this machine, or a testinfra host for remote debugging."""

import glob
import os
import pwd
import selectors
import shlex
import signal
import stat
import subprocess
import time
from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Protocol, Sequence, Tuple

from clusterctl_tools.nvme_smart import UnreadableSmartLogError, read_smart_log

OUTPUT_LIMIT_BYTES = 32 * 1024 * 1024
_SBIN = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


class ProbeError(Exception):
    """The node gave no answer; the check could not run."""


@dataclass(frozen=True)
class CommandResult:
    """The result of a command.

    Attributes:
        rc: its exit status; None if it did not finish.
        error: why it did not finish: not found, timed out, too much output; empty if it did.
    """

    rc: Optional[int]
    stdout: str = ""
    stderr: str = ""
    error: str = ""


class Source(Protocol):
    """What a probe reads from."""

    def read(self, path: str) -> Optional[str]:
        """The text of a file; None if absent."""

    def glob(self, pattern: str) -> List[str]:
        """The paths that match, sorted."""

    def owner_and_mode(self, path: str) -> Optional[Tuple[str, str]]:
        """As `stat -c '%U %a'` prints them; None if there is no such file."""

    def nvme_smart_log(self, controller: str) -> bytes:
        """The log of `nvme0`. Raises NoSmartLogError and UnreadableSmartLogError."""

    def run(self, argv: Sequence[str], timeout_s: float) -> CommandResult:
        """Run a command; never raises."""


class LocalSource:
    """This machine. `root` is prepended to every path that is read, not to commands; `outside`: texts that replace files."""

    def __init__(self, root: str = "/", outside: Optional[Dict[str, str]] = None) -> None:
        self._root = root.rstrip("/")
        self._outside = outside or {}

    def read(self, path: str) -> Optional[str]:
        """The text of a file; None if absent. Raises ProbeError if it exists but cannot be read."""
        if path in self._outside:
            return self._outside[path]
        try:
            with open(self._root + path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 thousands of reads, and a Path takes apart each
                return file.read()
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as e:
            raise ProbeError("{}: {}".format(path, e.strerror)) from e

    def glob(self, pattern: str) -> List[str]:
        """The paths that match, sorted."""
        return sorted(p[len(self._root) :] for p in glob.glob(self._root + pattern))  # noqa: PTH207 pathlib's glob takes no absolute pattern

    def owner_and_mode(self, path: str) -> Optional[Tuple[str, str]]:
        """As `stat -c '%U %a'` prints them; None if there is no such file."""
        try:
            found = os.lstat(self._root + path)
        except OSError:
            return None
        try:
            owner = pwd.getpwuid(found.st_uid).pw_name
        except KeyError:
            owner = "UNKNOWN"
        return owner, "{:o}".format(stat.S_IMODE(found.st_mode))

    def nvme_smart_log(self, controller: str) -> bytes:
        """The log of `nvme0`. Raises NoSmartLogError and UnreadableSmartLogError."""
        return read_smart_log("{}/dev/{}".format(self._root, controller))

    def run(self, argv: Sequence[str], timeout_s: float) -> CommandResult:
        """Run a command without a shell, in a process group of its own that is killed at the time limit."""
        env = dict(os.environ, LANG="C", LC_ALL="C", PATH=os.environ.get("PATH", "") + ":" + _SBIN)
        try:
            process = subprocess.Popen(
                list(argv),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                env=env,
                start_new_session=True,
            )
        except OSError as e:
            return CommandResult(None, error="{}: {}".format(argv[0], e.strerror))
        try:
            return _collect(process, timeout_s)
        finally:
            _end(process)


def owner_and_mode_of(answer: CommandResult) -> Optional[Tuple[str, str]]:
    """What `stat -c '%U %a'` answered; None if it shows no file."""
    words = answer.stdout.split()
    return (words[0], words[1]) if answer.rc == 0 and len(words) == 2 else None


def _collect(process: "subprocess.Popen[bytes]", timeout_s: float) -> CommandResult:
    """Read both pipes to their end or until the deadline: children of a killed tool may keep the pipes open."""
    deadline = time.monotonic() + timeout_s
    parts: Dict[str, List[bytes]] = {"stdout": [], "stderr": []}
    size = 0
    error = ""
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ, "stdout")  # type: ignore[arg-type]
        selector.register(process.stderr, selectors.EVENT_READ, "stderr")  # type: ignore[arg-type]
        while selector.get_map() and not error:
            ready = selector.select(max(0.0, deadline - time.monotonic()))
            for key, _ in ready:
                data = os.read(key.fd, 65536)
                parts[key.data].append(data)
                size += len(data)
                if not data:
                    selector.unregister(key.fileobj)
            if size > OUTPUT_LIMIT_BYTES:
                error = "more than {} MiB of output".format(OUTPUT_LIMIT_BYTES // 1024**2)
            elif time.monotonic() >= deadline and selector.get_map():
                error = "timed out after {:g} s".format(timeout_s)
    rc: Optional[int] = None
    if not error:
        try:
            rc = process.wait(max(0.1, deadline - time.monotonic()))
        except subprocess.TimeoutExpired:
            error = "timed out after {:g} s".format(timeout_s)
    out, err = (b"".join(parts[k]).decode("utf-8", "replace") for k in ("stdout", "stderr"))
    return CommandResult(rc, out, err, error)


def _end(process: "subprocess.Popen[bytes]") -> None:
    """Kill the process group; a process in uninterruptible sleep is left to the kernel after one second."""
    if process.poll() is None:
        try:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait(1)
        except (ProcessLookupError, subprocess.TimeoutExpired):
            process.poll()
    for pipe in (process.stdout, process.stderr):
        if pipe:
            pipe.close()


class HostSource:
    """A testinfra host, for `pytest --hosts=ssh://...`."""

    def __init__(self, host: Any) -> None:
        self._host = host

    def read(self, path: str) -> Optional[str]:
        """As LocalSource.read."""
        if not self._host.file(path).exists:
            return None
        result = self.run(["cat", path], 20)
        if result.rc != 0:
            raise ProbeError("{}: {}".format(path, result.error or result.stderr.strip()))
        return result.stdout

    def glob(self, pattern: str) -> List[str]:
        """As LocalSource.glob, expanded by the remote shell."""
        if "'" in pattern:
            raise ProbeError("cannot expand {!r} on a remote host".format(pattern))
        quoted = "".join(c if c in "*?[]" else shlex.quote(c) for c in pattern)
        result = self._host.run("for p in " + quoted + '; do if [ -e "$p" ]; then printf "%s\\n" "$p"; fi; done')
        return sorted(result.stdout.splitlines())

    def owner_and_mode(self, path: str) -> Optional[Tuple[str, str]]:
        """As LocalSource.owner_and_mode."""
        return owner_and_mode_of(self.run(["stat", "-c", "%U %a", path], 20))

    def nvme_smart_log(self, controller: str) -> bytes:
        """Raises UnreadableSmartLogError: the log is bytes, and testinfra returns text."""
        raise UnreadableSmartLogError("the log of {} is read on the node itself only".format(controller))

    def run(self, argv: Sequence[str], timeout_s: float) -> CommandResult:
        """As LocalSource.run; coreutils' `timeout` enforces the limit there."""
        words = ["env", "LANG=C", "LC_ALL=C", "timeout", "-k", "1", "{:g}".format(timeout_s), *argv]
        result = self._host.run(" ".join(shlex.quote(w) for w in words))
        if result.rc in (124, 126, 127, 137):
            reason = "timed out after {:g} s".format(timeout_s) if result.rc in (124, 137) else "{}: cannot be run".format(argv[0])
            return CommandResult(None, result.stdout, result.stderr, reason)
        return CommandResult(result.rc, result.stdout, result.stderr)
