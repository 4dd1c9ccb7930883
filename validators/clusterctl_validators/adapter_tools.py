"""Reads the firmware and the named NV parameters of one adapter: from the kernel, or with the tools of the vendor or of the distribution."""

from typing import Dict, Sequence

from clusterctl_tools import devlink, flint, mlxconfig
from clusterctl_validators.probe import Probe


class UnreadableToolError(ValueError):
    """A tool of an adapter gives no answer that can be read; the text gives the reason."""


# Two named parameters take 1.4 s of CPU time on ConnectX-6 Dx, so 2.9 s at half a core; all parameters take 13.3 s
# (k8snetworkplumbingwg/sriov-network-operator issue 835, mstflint 4.30.0).
QUERY_TIMEOUT_S = 8.0
# No public source times it; assumed to take no longer than a query.
FIRMWARE_TIMEOUT_S = 8.0
# Assumed to be enough for all adapters of a node: a few registers of each, for which no public source has a time. With flint after it, it fits into
# the time limit of a check.
DEVLINK_TIMEOUT_S = 8.0


def read_parameters(probe: Probe, tool: str, address: str, names: Sequence[str]) -> Dict[str, mlxconfig.Parameter]:
    """The parameters that the adapter has; those that it lacks or hides are left out.

    The tool refuses a query as a whole for one such parameter, so it is queried again without it. It is queried once for each adapter: without `-d` it
    would query all of the node, also those that are not declared, but refuses if one of them cannot be opened, and reads its database again for each
    (mstflint 4.36, mlxcfg_ui.cpp, mtcr_ul.c and mlxcfg_generic_commander.cpp), so that only the start of a process would be saved.

    Raises:
        UnreadableToolError: the tool gives no configuration; the text gives the reason.
    """
    requested = list(names)
    while requested:
        answer = probe.run(mlxconfig.query_argv(tool, address, requested), timeout_s=QUERY_TIMEOUT_S)
        refused = mlxconfig.refused_parameter(answer.stdout + answer.stderr)
        if refused not in requested:
            try:
                return mlxconfig.parse_configuration(answer.stdout)
            except mlxconfig.UnreadableConfigurationError as e:
                raise UnreadableToolError(answer.error or answer.stderr.strip() or str(e)) from e
        requested.remove(refused)
    return {}


def read_flash_firmware(probe: Probe, tool: str, address: str) -> str:
    """The version that the next reset of the adapter starts. Raises UnreadableToolError with the reason if nothing shows it.

    The tool is started only for an adapter that the kernel does not report: an old one, or one that does not answer.
    """
    stored = devlink.parse_stored_firmware(probe.run(devlink.INFO, timeout_s=DEVLINK_TIMEOUT_S).stdout).get(address)
    return stored or _read_firmware(probe, tool, address).flash


def _read_firmware(probe: Probe, tool: str, address: str) -> flint.Firmware:
    answer = probe.run(flint.query_argv(tool, address), timeout_s=FIRMWARE_TIMEOUT_S)
    try:
        return flint.parse_firmware(answer.stdout)
    except flint.UnreadableFirmwareError as e:
        raise UnreadableToolError(answer.error or answer.stderr.strip() or str(e)) from e
