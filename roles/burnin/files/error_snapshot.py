"""Prints the error counters of a node as one JSON object, which `clusterctl` compares before and after a burn-in.

error_snapshot.py --log PATTERN [COMMAND]...

COMMANDs are run and their output is passed on, without the indentation of lines. PATTERN chooses the lines of the kernel log.
Standard library only, Python 3.8.
"""

from __future__ import annotations

import functools
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

SCHEMA_VERSION = 1
COMMAND_LIMIT_S = 60
LOG_LINES = 400
LINE_LIMIT = 300
# Since boot, in seconds, which a change of the clock does not affect.
# With journald's own notes that it missed messages of the kernel (SD_MESSAGE_JOURNAL_MISSED of systemd's sd-messages.h).
KERNEL = ["_TRANSPORT=kernel", "+", "_TRANSPORT=driver", "MESSAGE_ID=e9bf28e6e834481bb6f48f548ad13606"]
LOG_COMMANDS = (["journalctl", "-b", "0", "-o", "short-monotonic", "--no-hostname", "--no-pager", "-q", *KERNEL], ["dmesg"])
LOG_TIME = re.compile(r"\[\s*(\d+\.\d+)\]")
MISSED = re.compile(r"^\[[\d. ]+\] systemd-journald\[\d+\]: Missed \d+ kernel messages")
FIRST_LINES = 20
# Formats: Documentation/ABI/testing of Linux, sysfs-bus-pci-devices-aer (totals are the last line), sysfs-devices-edac, sysfs-class-infiniband.
AER_TOTALS = {"correctable": "TOTAL_ERR_COR", "nonfatal": "TOTAL_ERR_NONFATAL", "fatal": "TOTAL_ERR_FATAL"}
EDAC_COUNTERS = ("mc*/[uc]e_count", "mc*/ce_noinfo_count", "mc*/dimm*/dimm_ce_count", "mc*/rank*/dimm_ce_count")
# Fabric Manager User Guide: the function of a ConnectX-7 of the baseboard that manages NVSwitches has this in its product data.
SWITCH_MANAGEMENT, PRODUCT_DATA = b"SMDL=SW_MNG", 4096
# A second device of an adapter, for subnet managers of XDR fabrics, with a port for each plane of its link (rdma-dev.8); Mellanox/rdmamap pull 17 lists one.
SMI = "smi"
# What an Ethernet port counts about its link (Linux, Documentation/networking/device_drivers/ethernet/mellanox/mlx5/counters.rst): symbols that error
# correction did not repair, packets dropped for wrong content, losses of the link; then what has no limit by default. The counters in sysfs are those of
# InfiniBand. Not confirmed: that firmware fills them for Ethernet, too, for which the kernel also reads them (commit 1c64bf6f).
PHY_COUNTERS = (
    *("rx_pcs_symbol_err_phy", "rx_symbol_err_phy", "rx_crc_errors_phy", "link_down_events_phy"),
    *("rx_corrected_bits_phy", "rx_discards_phy", "tx_discards_phy", "tx_errors_phy"),
)
REPRESENTOR = re.compile(r"(c\d+)?pf\d")
HW_COUNTERS = ("local_ack_timeout_err", "packet_seq_err", "out_of_sequence", "roce_slow_restart", "rnr_nak_retry_err")


def command_output(argv: list[str]) -> dict[str, Any]:
    """Exit status and output of a command; `error` if it did not run to its end."""
    try:
        done = subprocess.run(argv, stdin=subprocess.DEVNULL, capture_output=True, timeout=COMMAND_LIMIT_S, check=False)
    except OSError as e:
        return {"error": f"{argv[0]}: {e.strerror}", "exit_status": None, "stdout": "", "stderr": ""}
    except subprocess.TimeoutExpired:
        return {"error": f"{argv[0]}: timed out after {COMMAND_LIMIT_S} s", "exit_status": None, "stdout": "", "stderr": ""}
    out = "\n".join(line.strip() for line in done.stdout.decode("utf-8", "replace").splitlines())
    return {"error": "", "exit_status": done.returncode, "stdout": out, "stderr": done.stderr.decode("utf-8", "replace")[-2000:]}


def kernel_log(pattern: str) -> dict[str, Any]:
    """The last matching lines of this boot's kernel log, since when it is complete, and why there are none where it cannot be read."""
    found: list[dict[str, Any]] = []
    problem = "no command that prints the kernel log"
    for argv in LOG_COMMANDS:
        answer = command_output(argv)
        problem = answer["error"] or ("" if answer["exit_status"] == 0 else answer["stderr"].strip() or "it failed")
        if not problem and answer["stdout"].strip():
            found.append(chosen_lines(answer["stdout"].splitlines(), pattern))
    if found:
        return min(found, key=lambda log: log["complete_since_s"])
    return {"error": problem or "the kernel log of this boot is empty", "lines": []}


def chosen_lines(lines: list[str], pattern: str) -> dict[str, Any]:
    """The last matching lines, and the time since boot from which on none is missing: not before the oldest line, a loss, or a line left out here."""
    wanted = [line for line in lines if re.search(pattern, line)]
    since_s = 0.0 if any("Linux version " in line for line in lines[:FIRST_LINES]) else seconds(lines[0])
    ends = [line for line in lines if MISSED.match(line)] + wanted[:-LOG_LINES]
    return {"error": "", "lines": [w[:LINE_LIMIT] for w in wanted[-LOG_LINES:]], "complete_since_s": max([since_s, *map(seconds, ends)])}


def seconds(line: str) -> float:
    """The time of a line since boot; the time now if it has none."""
    found = LOG_TIME.search(line)
    return float(found.group(1)) if found else uptime_s()


def uptime_s() -> float:
    """Seconds since boot."""
    return float(text(Path("/proc/uptime")).split()[0])


def counters(sys_root: Path = Path("/sys")) -> dict[str, dict[str, int]]:
    """Device -> counter -> value, from sysfs."""
    found: dict[str, dict[str, int]] = {}
    for file in [f for folder in ("counters", "hw_counters") for f in (sys_root / "class/infiniband").glob(f"*/ports/*/{folder}/*")]:
        if file.parent.name == "counters" or file.name in HW_COUNTERS:
            add(found, port_name(file.parents[1]), file.name, text(file))
    for port in (sys_root / "class/infiniband").glob("*/ports/*"):
        for counter, value in phy_counters(port).items():
            add(found, port_name(port), counter, value)
    for kind, total in AER_TOTALS.items():
        for file in (sys_root / "bus/pci/devices").glob(f"*/aer_dev_{kind}"):
            words = text(file).split()
            add(found, file.parent.name, f"aer_{kind}", words[words.index(total) + 1] if total in words[:-1] else "")
    edac = sys_root / "devices/system/edac/mc"
    for file in [f for pattern in EDAC_COUNTERS for f in edac.glob(pattern)]:
        add(found, file.parent.relative_to(edac).as_posix(), file.name, text(file))
    return found


def phy_counters(port: Path) -> dict[str, str]:
    """The counters of an Ethernet port's link; none where ethtool is absent or shows none."""
    interfaces = sorted((port.parents[1] / "device/net").glob("*")) if text(port / "link_layer").strip() == "Ethernet" else []
    own = [i for i in interfaces if not REPRESENTOR.match(text(i / "phys_port_name"))]
    named = [i.name for i in own if len(own) == 1 or text(i / "dev_port").strip() == str(int(port.name) - 1)]
    lines = command_output(["ethtool", "-S", named[0]])["stdout"].splitlines() if named else []
    pairs = (line.partition(":")[::2] for line in lines)
    return {name.strip(): value.strip() for name, value in pairs if name.strip() in PHY_COUNTERS}


def rates_gbps(sys_root: Path = Path("/sys")) -> dict[str, float]:
    """Port -> data rate of its link: `400 Gb/sec (4X NDR)`."""
    found: dict[str, float] = {}
    for file in (sys_root / "class/infiniband").glob("*/ports/*/rate"):
        rate = re.match(r"\d{1,5}(\.\d+)?", text(file))
        if rate:
            found[port_name(file.parent)] = float(rate.group(0))
    return found


@functools.lru_cache(maxsize=None)  # noqa: UP033 Python 3.8; the device returns it word by word
def port_name(port: Path) -> str:
    """`mlx5_0/1`; `mlx5_0/plane 2`; `NVSwitch mlx5_8/1` for a link to the NVSwitches of the baseboard, which no cable carries."""
    device = port.parents[1]
    adapters = sorted(d.name for d in (device / "device/infiniband").glob("*") if not d.name.startswith(SMI))
    if device.name.startswith(SMI) and adapters:
        return f"{adapters[0]}/plane {port.name}"
    try:
        with (device / "device/vpd").open("rb") as file:
            product = file.read(PRODUCT_DATA)
    except OSError:
        product = b""
    return f"{'NVSwitch ' if SWITCH_MANAGEMENT in product else ''}{device.name}/{port.name}"


def add(found: dict[str, dict[str, int]], device: str, counter: str, value: str) -> None:
    """Record a counter that is a number."""
    if value.strip().isdigit():
        found.setdefault(device, {})[counter] = int(value)


def text(file: Path) -> str:
    """The content of a file; empty if it cannot be read."""
    try:
        return file.read_text(encoding="ascii", errors="replace")
    except OSError:
        return ""


def main(words: list[str]) -> int:
    """Print the snapshot."""
    if words[:1] != ["--log"] or not words[1:]:
        sys.stderr.write(__doc__ or "")
        return 2
    snapshot = {
        "schema_version": SCHEMA_VERSION,
        "boot_id": text(Path("/proc/sys/kernel/random/boot_id")).strip(),
        "uptime_s": uptime_s(),
        "log": kernel_log(words[1]),
        "commands": {command: command_output(command.split()) for command in words[2:]},
        "counters": counters(),
        "rates_gbps": rates_gbps(),
    }
    sys.stdout.write(json.dumps(snapshot, sort_keys=True) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
