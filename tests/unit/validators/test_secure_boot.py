"""Secure Boot of the firmware, and modules that a kernel refuses. tests/acceptance/test_secure_boot.py asks a real firmware and a real kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_validators import secure_boot
from clusterctl_validators.finding import Finding, Outcome
from clusterctl_validators.probe import CommandResult, Probe
from clusterctl_validators.record import Record
from support.checks import InventedNode, write_files

if TYPE_CHECKING:
    from pathlib import Path

ON, OFF = "\x06\x00\x00\x00\x01", "\x06\x00\x00\x00\x00"
SIGNER = "modinfo -F signer nvidia"
ENFORCED = {secure_boot.ENFORCED: "Y\n"}
# The form of /proc/keys of Debian 12 and Ubuntu 24.04: type cut to eight letters, description with the key's id.
KEYS = """\
00b6dd4c I--Q---     2 perm 3f030000     0     0 keyring   _ses: 1
0b6e3a13 I------     1 perm 1f030000     0     0 asymmetri Debian Secure Boot CA: 6ccece7e4c6c0d1f6149f3dd27dfcc5cbb419ea1: X509.rsa bb419ea1 []
"""


def state(root: Path, declared: str, files: dict[str, str]) -> Finding:
    record = Record("hardware")
    secure_boot.judge_state(declared, Probe(InventedNode(write_files(root, files), {})), record)
    return record.findings[0]


def module(root: Path, files: dict[str, str], signer: CommandResult | str = "") -> Finding:
    record = Record("nvidia_driver")
    node = InventedNode(write_files(root, files), {SIGNER: signer})
    secure_boot.judge_module("nvidia_driver.kernel_module.signature", "nvidia", Probe(node), record)
    return record.findings[0]


@pytest.mark.parametrize(
    ("declared", "files", "outcome", "found"),
    [
        ("enabled", {secure_boot.VARIABLE: ON}, Outcome.PASS, "enabled"),
        ("enabled", {secure_boot.VARIABLE: OFF}, Outcome.FAIL, "disabled"),
        ("disabled", {secure_boot.VARIABLE: OFF}, Outcome.PASS, "disabled"),
        ("disabled", {secure_boot.VARIABLE: ON}, Outcome.FAIL, "enabled"),
        ("enabled", {}, Outcome.FAIL, "disabled"),
        ("disabled", {}, Outcome.PASS, "disabled"),
    ],
    ids=["on", "off", "off_as_declared", "on_against_it", "legacy_bios", "legacy_bios_as_declared"],
)
def test_state(declared: str, files: dict[str, str], outcome: Outcome, found: str, tmp_path: Path) -> None:
    finding = state(tmp_path, declared, files)
    assert (finding.outcome, finding.found) == (outcome, found)


@pytest.mark.parametrize("text", ["", "\x06\x00\x00\x00\x02", "text"], ids=["empty", "no_boolean", "other_text"])
def test_a_variable_that_says_nothing_is_no_answer(text: str, tmp_path: Path) -> None:
    assert state(tmp_path, "disabled", {secure_boot.VARIABLE: text}).outcome is Outcome.COULD_NOT_RUN


def test_uefi_without_efivarfs_is_no_answer(tmp_path: Path) -> None:
    assert state(tmp_path, "disabled", {f"{secure_boot.FIRMWARE}/fw_platform_size": "64"}).outcome is Outcome.COULD_NOT_RUN


def test_where_nothing_is_declared_the_state_is_shown(tmp_path: Path) -> None:
    finding = state(tmp_path, "", {secure_boot.VARIABLE: ON})
    assert (finding.outcome, finding.reason) == (Outcome.NOT_APPLICABLE, "not declared for this node; found enabled")


@pytest.mark.parametrize(
    ("files", "signer", "outcome", "found"),
    [
        ({}, "", Outcome.NOT_APPLICABLE, ""),
        ({secure_boot.ENFORCED: "N", secure_boot.LOCKDOWN: "[none] integrity confidentiality"}, "", Outcome.NOT_APPLICABLE, ""),
        (ENFORCED, "\n", Outcome.FAIL, "unsigned"),
        ({secure_boot.LOCKDOWN: "none [integrity] confidentiality"}, "", Outcome.FAIL, "unsigned"),
        (ENFORCED, "Debian Secure Boot CA\n", Outcome.PASS, "signed by Debian Secure Boot CA"),
        (ENFORCED | {secure_boot.KEYS: KEYS}, "Debian Secure Boot CA\n", Outcome.PASS, "signed by Debian Secure Boot CA"),
        (ENFORCED | {secure_boot.KEYS: KEYS}, "DKMS\n", Outcome.FAIL, "signed by DKMS, of whom the kernel has no key"),
    ],
    ids=["no_signatures_at_all", "not_enforced", "unsigned", "lockdown", "signed_keys_unknown", "signed", "unknown_key"],
)
def test_module(files: dict[str, str], signer: str, outcome: Outcome, found: str, tmp_path: Path) -> None:
    finding = module(tmp_path, files, signer)
    assert (finding.outcome, finding.found) == (outcome, found)


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (CommandResult(None, error="modinfo: not found"), "modinfo: not found"),
        (CommandResult(1, stderr="modinfo: ERROR: Module nvidia not found."), "modinfo: ERROR: Module nvidia not found."),
    ],
    ids=["no_modinfo", "no_module"],
)
def test_a_module_that_cannot_be_read_is_no_pass(answer: CommandResult, reason: str, tmp_path: Path) -> None:
    finding = module(tmp_path, ENFORCED, answer)
    assert (finding.outcome, finding.reason) == (Outcome.COULD_NOT_RUN, reason)


def test_the_finding_says_what_demands_the_signature(tmp_path: Path) -> None:
    finding = module(tmp_path, {secure_boot.LOCKDOWN: "none integrity [confidentiality]"})
    assert finding.expected == "signed by a key of the kernel (lockdown confidentiality)"
