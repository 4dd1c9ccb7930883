"""The configuration of chrony and the state of its daemon."""

from typing import List, Tuple

from clusterctl_validators.probe import Probe, ProbeError

_CONFIGS = ("/etc/chrony/chrony.conf", "/etc/chrony.conf")
_KINDS = ("server", "pool", "peer", "refclock")
_TRACKING_FIELDS = 14
# client.c of chrony: the others are "Not synchronised" and "Invalid". A leap second is announced a day ahead or longer, to all nodes.
_SYNCHRONIZED = ("Normal", "Insert second", "Delete second")


def configured(probe: Probe) -> List[str]:
    """The configured sources, `server ADDRESS OPTIONS`, sorted.

    Raises:
        ProbeError: no configuration file exists.
    """
    text = next((t for t in (probe.read(path) for path in _CONFIGS) if t is not None), None)
    if text is None:
        raise ProbeError("{} is absent".format(_CONFIGS[0]))
    return sorted(" ".join(line.split()) for line in text.splitlines() if line.split()[:1] and line.split()[0] in _KINDS)


def polled(probe: Probe) -> List[str]:
    """The sources that the running daemon polls, by the names in its configuration.

    Raises:
        ProbeError: the daemon does not answer.
    """
    rows = [line.split(",") for line in _chronyc(probe, "sources").splitlines()]
    return sorted({row[2] for row in rows if len(row) > 2})


def synchronized(probe: Probe, wait_s: int) -> Tuple[bool, str]:
    """Whether the clock is synchronized within `wait_s`, and the state then. Limits of 0 accept any offset and skew (chronyc(1), waitsync).

    Raises:
        ProbeError: the daemon does not answer.
    """
    result = probe.run(["chronyc", "waitsync", str(wait_s), "0", "0", "1"], timeout_s=wait_s + 10)
    if result.error:
        raise ProbeError("chronyc: " + result.error)
    fields = _chronyc(probe, "tracking").strip().split(",")
    return result.rc == 0, fields[-1]


def clock(probe: Probe, offset_max_us: int) -> Tuple[bool, str]:
    """Whether the clock is synchronized and off by no more than `offset_max_us`; and the measured state.

    Raises:
        ProbeError: the daemon does not answer, or in an unknown format.
    """
    fields = _chronyc(probe, "tracking").strip().split(",")
    if len(fields) != _TRACKING_FIELDS:
        raise ProbeError("chronyc tracking: {} fields instead of {}".format(len(fields), _TRACKING_FIELDS))
    offset_us = abs(float(fields[4])) * 1e6
    leap = fields[13]
    return leap in _SYNCHRONIZED and offset_us <= offset_max_us, "{}, off by {:.1f} us".format(leap, offset_us)


def _chronyc(probe: Probe, what: str) -> str:
    result = probe.run(["chronyc", "-N", "-c", what])
    if result.error or result.rc != 0:
        raise ProbeError("chronyc: " + (result.error or (result.stdout + result.stderr).strip()))
    return result.stdout
