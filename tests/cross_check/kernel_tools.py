"""dmesg reads a file with the lines of the simulated kernel log, modinfo modules that are compiled with the fields of the simulated ones."""

from __future__ import annotations

import subprocess
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

from cross_check.comparison import Comparison, Normalisation, ToolReport
from cross_check.same_output import version
from cross_check.world import World, simulated
from support.unpacked_tools import environment, which

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

_LOG = (
    (6, 1.5, "mlx5_core 0000:18:00.0: firmware version: 28.39.3560"),
    (3, 61.5, "NVRM: Xid (PCI:0000:1a:00): 79, pid=1"),
    (4, 7200.5, "last"),
)
_RING, _REAL_RING = "/run/clusterctl-lab/dmesg", "/run/cross-check-dmesg"
_MODULE, _IN_TREE, _VERSION = "nvidia", "mlx5_core", "580.126.20"
_LICENSE, _DESCRIPTION = "Dual MIT/GPL", "simulated"
_COMMANDS = {
    "dmesg": (
        (),
        ("-t",),
        ("-T",),
        ("--time-format", "iso"),
        ("--time-format=iso",),
        ("-l", "err"),
        ("--level=err,warn",),
        ("-T", "--level", "warn"),
    ),
    "modinfo": (
        (_MODULE,),
        (_IN_TREE,),
        ("-F", "version", _MODULE),
        ("-F", "version", _IN_TREE),
        ("-F", "license", _MODULE),
        ("-F", "vermagic", _MODULE),
        ("-F", "filename", _IN_TREE),
        ("-F", "signer", _MODULE),
        ("-F", "version", "absent"),
        ("absent",),
    ),
}
_RULES = {
    "dmesg": (Normalisation(r"(:\d\d),\d{6}(\+)", r"\1,N\2", "the real one adds the time since boot to a whole second"),),
    "modinfo": (Normalisation(r"/\S*(/lib/modules/)", r"\1", "the modules of the real one are in a folder for this run"),),
}
TOOLS = tuple(_COMMANDS)


def why_missing(tool: str) -> str:
    """What is absent to run it; empty if nothing is."""
    if tool == "dmesg":
        return "" if which("dmesg") else "dmesg"
    return next((name for name in ("kmod", "gcc") if not which(name)), "")


def compare(tools: Sequence[str]) -> list[ToolReport]:
    """Run all commands of the tools."""
    with tempfile.TemporaryDirectory() as scratch:
        return [_compared(tool, Path(scratch)) for tool in tools]


def _compared(tool: str, folder: Path) -> ToolReport:
    commands = [[tool, *words] for words in _COMMANDS[tool]]
    program = ["dmesg", "-F", _REAL_RING] if tool == "dmesg" else [str(_modinfo(folder)), "-b", str(folder)]
    world = World("hgx_h100", files=dict(_files()))
    module = "dmesg" if tool == "dmesg" else "module_tools"
    pairs = [argv for words in commands for argv in ([*program, *words[1:]], simulated(module, words))]
    answers = world.run(pairs)
    rows = [
        Comparison(tool, world.name, " ".join(words), real.text, own.text, _RULES[tool])
        for words, real, own in zip(commands, answers[::2], answers[1::2], strict=True)
    ]
    return ToolReport(tool, version([tool, "--version"] if tool == "dmesg" else ["kmod", "--version"]), rows)


def _files() -> Iterator[tuple[str, str]]:
    """The same kernel log in the form of the simulator and of syslog, and the file that makes a module of the simulator."""
    booted = int(time.time() - time.clock_gettime(time.CLOCK_BOOTTIME))
    yield _RING, "".join(f"{level} {booted + since:.6f} {since:.6f} {text}\n" for level, since, text in _LOG)
    yield _REAL_RING, "".join(f"<{level}>[{since:12.6f}] {text}\n" for level, since, text in _LOG)
    yield f"/run/clusterctl-lab/modules/{_MODULE}", f"{_VERSION}\n"


def _modinfo(folder: Path) -> Path:
    """The real program under its own name, with modules below `folder` for the running kernel: an empty object with a section of fields each."""
    release = Path("/proc/sys/kernel/osrelease").read_text(encoding="ascii").strip()
    root = folder / "lib" / "modules" / release
    for name, where, own in ((_MODULE, "updates/dkms", {"version": _VERSION}), (_IN_TREE, "kernel/drivers", {})):
        # The kernel's build ends this text with a blank (VERMAGIC_STRING).
        magic = f"{release} SMP preempt mod_unload "
        fields = {"license": _LICENSE, "description": _DESCRIPTION, **own, "name": name, "vermagic": magic}
        text = "\\0".join(f"{key}={value}" for key, value in fields.items())
        (root / where).mkdir(parents=True)
        source = f'const char fields[] __attribute__((section(".modinfo"))) = "{text}";'
        target = root / where / f"{name}.ko"
        subprocess.run(["gcc", "-c", "-x", "c", "-", "-o", str(target)], input=source, text=True, check=True, capture_output=True)
    program = which("kmod")
    assert program
    for name in ("modinfo", "depmod"):
        (folder / name).symlink_to(program)
    subprocess.run([folder / "depmod", "-b", folder, release], env=environment(), check=True, capture_output=True)
    return folder / "modinfo"
