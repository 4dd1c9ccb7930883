"""Secure Boot, and modules that a kernel under it refuses.

Sources: Documentation/filesystems/efivarfs.rst (four bytes of attributes before the value), kernel/module/signing.c (with `module.sig_enforce` or a
lockdown, a module without a signature by a key of the kernel is not loaded), libkmod-signature.c (`signer` is the common name of the key's issuer).
"""

import re
from typing import Set

from clusterctl_tools.modinfo import fields_argv, parse_fields
from clusterctl_validators.finding import Severity
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

FIRMWARE = "/sys/firmware/efi"
VARIABLE = FIRMWARE + "/efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"
ENFORCED = "/sys/module/module/parameters/sig_enforce"
LOCKDOWN = "/sys/kernel/security/lockdown"
KEYS = "/proc/keys"
_VALUES = {"\x00": "disabled", "\x01": "enabled"}
_HINT = (
    "the kernel does not load it again: install signed modules (nvidia_driver_source: ubuntu), sign them with a key that is enrolled with"
    " `mokutil --import`, or turn Secure Boot off in the BIOS"
)


def judge_state(declared: str, probe: Probe, record: Record) -> None:
    """Record `hardware.secure_boot`: the state in which the firmware started this kernel."""
    check = "hardware.secure_boot"
    found = _state(probe)
    if not declared:
        record.not_applicable(check, "not declared for this node; found {}".format(found or "no UEFI variables"))
    elif not found:
        record.could_not_run(check, "efivarfs is not mounted, or does not show the variable SecureBoot")
    else:
        record.equal(check, declared, found, hint="set it in the BIOS (Secure Boot); it counts from the next boot")


def judge_module(check: str, module: str, probe: Probe, record: Record) -> None:
    """Record `check`: the installed module is signed by a key of the kernel, where the kernel loads no other ones.

    A key that the kernel has is necessary, but may lie in a keyring that does not count for modules; whether a module is loaded is a check of its own.
    """
    why = _enforced_by(probe)
    if not why:
        record.not_applicable(check, "this kernel also loads unsigned modules")
        return
    info = probe.run(fields_argv(module))
    if info.error or info.rc != 0:
        record.could_not_run(check, info.error or info.stderr.strip() or "modinfo failed", Severity.CRITICAL)
        return
    name, keys = parse_fields(info.stdout).get("signer", ""), _keys(probe)
    if name and not keys:
        record.could_not_run(
            check, KEYS + " shows no certificate, although the kernel has some; root privileges are required", Severity.CRITICAL
        )
        return
    known = any(": {}: ".format(name) in key for key in keys)
    found = "unsigned" if not name else "signed by " + name + ("" if known else ", of whom the kernel has no key")
    expected = "signed by a key of the kernel ({})".format(why)
    record.ok(check, bool(name) and known, expected=expected, found=found, severity=Severity.CRITICAL, hint=_HINT)


def lockdown(probe: Probe) -> str:
    """`integrity` or `confidentiality`: the kernel refuses what would change it or a device past it (kernel_lockdown(7)); else empty."""
    mode = re.search(r"\[(\w+)\]", probe.read(LOCKDOWN) or "")
    return mode.group(1) if mode and mode.group(1) != "none" else ""


def _state(probe: Probe) -> str:
    """`enabled`, `disabled` (also with a legacy BIOS), or empty: UEFI, but the variable cannot be read."""
    if not probe.glob(FIRMWARE):
        return "disabled"
    return _VALUES.get((probe.read(VARIABLE) or "")[-1:], "")


def _enforced_by(probe: Probe) -> str:
    if probe.read(ENFORCED) == "Y":
        return "module.sig_enforce"
    mode = lockdown(probe)
    return "lockdown " + mode if mode else ""


def _keys(probe: Probe) -> Set[str]:
    """The descriptions of the certificates that /proc/keys shows: `: NAME: ID: X509.rsa ...`, or with the organization before the name."""
    lines = (line.split(None, 8) for line in (probe.read(KEYS) or "").splitlines())
    return {": " + words[8] for words in lines if len(words) == 9 and words[7].startswith("asymmet")}
