"""Whether the M_Key of an InfiniBand subnet protects a port: without it, root on any node may reconfigure the subnet. No finding has the key."""

from clusterctl_tools.port_info import (
    UnreadablePortInfoError,
    has_no_answer,
    own_port_argv,
    parse_own_port,
    parse_record_level,
    reason,
    record_argv,
)
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record
from clusterctl_validators.virtual_machine import is_virtual_machine

PROTECTED = "set, protection level 2 or 3"
_HIDDEN = 1
# That an adapter checks queries from its own machine, too, is not confirmed on a ConnectX. One that does not shows the key to root there, and the check fails.
_REFUSING = 2
_HINT = (
    "set m_key and m_key_protection_level 2 in opensm.conf of the subnet manager (UFM: global_m_key_seed, m_key_per_port), and restart it; "
    "the role cannot: that is another machine"
)


def check_management_key(record: Record, probe: Probe, check: str, device: str, port: int) -> None:
    """One finding. Passes where the port leaves a query without the key unanswered, and the subnet manager has protection level 2 or 3 for it.

    Silence alone is not evidence of a key: a virtual machine may not send such queries at all. The subnet manager's level alone is none either: opensm sets it
    without a key, too. Raises ProbeError.
    """
    answer = probe.run(own_port_argv(device, port))
    if answer.error:
        record.could_not_run(check, answer.error)
    elif has_no_answer(answer.stdout, answer.stderr):
        _judge_silence(record, probe, check, device, port)
    elif answer.rc != 0:
        record.could_not_run(check, "smpquery: {}".format(reason(answer.stdout, answer.stderr) or "exit status {}".format(answer.rc)))
    else:
        _judge_answer(record, check, answer.stdout)


def _judge_answer(record: Record, check: str, text: str) -> None:
    try:
        shown = parse_own_port(text)
    except UnreadablePortInfoError as e:
        record.could_not_run(check, str(e))
        return
    if shown.level == _HIDDEN and not shown.shows_key:
        record.could_not_run(check, "protection level 1 hides whether a key is set: m_key of the subnet manager shows it")
        return
    found = "set, but shown to everybody" if shown.shows_key else "none"
    record.ok(check, False, expected=PROTECTED, found="{} (protection level {})".format(found, shown.level), hint=_HINT)


def _judge_silence(record: Record, probe: Probe, check: str, device: str, port: int) -> None:
    if is_virtual_machine(probe) or probe.glob("/sys/class/infiniband/{}/device/physfn".format(device)):
        record.could_not_run(
            check,
            "the port does not answer, and a virtual machine or function may not be able to query it: check it on a machine with the whole adapter",
        )
        return
    try:
        level = record_level(probe, device, port)
    except UnreadablePortInfoError as e:
        record.could_not_run(check, "the port does not answer, and whether that is for an M_Key is unknown: {}".format(e))
        return
    if level < _REFUSING:
        record.could_not_run(check, "the port does not answer, although its protection level is {} for the subnet manager".format(level))
    else:
        record.ok(check, True, expected=PROTECTED, found="set, protection level {}".format(level))


def record_level(probe: Probe, device: str, port: int) -> int:
    """The protection level in the subnet manager's record of a port. Raises UnreadablePortInfoError and ProbeError."""
    lid = int(probe.read("/sys/class/infiniband/{}/ports/{}/lid".format(device, port)) or "0", 16)
    if not lid:
        raise UnreadablePortInfoError("{} has no local id".format(device))
    # opensm 3.3.23 puts the level into its answers to everybody; UFM's subnet manager is not confirmed. Where it limits such queries, the check could not run.
    answer = probe.run(record_argv(device, port, lid))
    if answer.error or answer.rc != 0:
        raise UnreadablePortInfoError(answer.error or "saquery ended with exit status {}".format(answer.rc))
    return parse_record_level(answer.stdout)


def is_managed(probe: Probe, device: str, port: int) -> bool:
    """Whether a subnet manager has a record of the port, and a protection level at which it answers to nobody without the key. Raises ProbeError."""
    try:
        return record_level(probe, device, port) >= _REFUSING
    except UnreadablePortInfoError:
        return False
