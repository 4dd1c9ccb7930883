"""A validator as roles have them: reads its spec, records what it sees; its spec says how it misbehaves."""

from __future__ import annotations

import os
import signal
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from clusterctl_validators.probe import Probe
    from clusterctl_validators.record import Record
    from clusterctl_validators.spec_view import SpecView

ROLE = "example"
EACH = {"part": "example_parts"}


def test_value(spec: SpecView, record: Record, probe: Probe) -> None:
    said = probe.run(["echo", "64"])
    record.equal("example.value.running", spec["example_value"], said.stdout.strip(), hint="set it")
    record.equal("example.value.persisted", spec["example_value"], None)


def test_behaviour(spec: SpecView, record: Record, probe: Probe) -> None:
    behaviour = spec.get("example_behaviour", "good")
    if behaviour == "raise":
        raise RuntimeError("the tool failed")
    if behaviour == "sleep":
        time.sleep(600)
    if behaviour == "cannot be interrupted":
        signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGALRM})
        time.sleep(600)
    if behaviour == "write a file":
        Path(spec["example_path"]).write_text("by a check")
    if behaviour == "write a sysctl":
        sysctl = Path("/proc/sys/vm/swappiness")
        sysctl.write_text(sysctl.read_text())
    if behaviour == "let a command write":
        said = probe.run(["touch", spec["example_path"]])
        record.ok("example.touch", said.rc == 0, expected="touched", found=said.stderr)
    if behaviour == "die":
        os.kill(os.getpid(), signal.SIGKILL)
    if behaviour == "skip":
        pytest.skip("no such tool")
    if behaviour == "print":
        print('{"schema_version": 1}', flush=True)  # noqa: T201 the misbehaviour
        os.write(1, b"noise on the descriptor\n")
        sys.stderr.write("noise on stderr\n")
    record.ok("example.behaviour", condition=True)


def test_mounts(record: Record, probe: Probe) -> None:
    """The options of mounts are the node's own, not those of the view that the checks have of it."""
    record.ok("example.mounts", not all("ro" in mount.options for mount in probe.mounts()))


@pytest.mark.parametrize("item", ["a", "b"])
def test_items(record: Record, item: str) -> None:
    record.ok(f"example.items[{item}]", condition=True)


def test_parts(record: Record, part: str) -> None:
    if part == "slow":
        time.sleep(600)
    record.ok(f"example.parts[{part or 'none'}]", condition=True)


@pytest.fixture
def broken(spec: SpecView) -> None:
    if spec.get("example_behaviour") == "fixture":
        raise OSError("the fixture broke")


def test_fixture(broken: None, record: Record) -> None:
    record.ok("example.fixture", condition=True)


def test_host(host: Any, spec: SpecView, record: Record) -> None:
    record.ok("example.host", host.file("/").is_directory, expected=spec.get("example_value"))
