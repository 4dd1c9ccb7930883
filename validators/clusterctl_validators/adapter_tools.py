"""Reads the firmware and the named NV parameters of one adapter with the tools of the vendor or of the distribution."""

from typing import Dict, Sequence

from clusterctl_tools import flint, mlxconfig
from clusterctl_validators.probe import Probe


class UnreadableToolError(ValueError):
    """A tool of an adapter gives no answer that can be read; the text gives the reason."""


# Two named parameters take 1.4 s of CPU time on ConnectX-6 Dx, so 2.9 s at half a core; all parameters take 13.3 s
# (k8snetworkplumbingwg/sriov-network-operator issue 835, mstflint 4.30.0).
QUERY_TIMEOUT_S = 8.0
# No public source times it; assumed to take no longer than a query.
FIRMWARE_TIMEOUT_S = 8.0


def read_parameters(probe: Probe, tool: str, address: str, names: Sequence[str]) -> Dict[str, mlxconfig.Parameter]:
    """The parameters that the adapter has; those that it lacks or hides are left out.

    The tool refuses a query as a whole for one such parameter, so it is asked again without it.

    Raises:
        UnreadableToolError: the tool gives no configuration; the text gives the reason.
    """
    asked = list(names)
    while asked:
        answer = probe.run(mlxconfig.query_argv(tool, address, asked), timeout_s=QUERY_TIMEOUT_S)
        refused = mlxconfig.refused_parameter(answer.stdout + answer.stderr)
        if refused not in asked:
            try:
                return mlxconfig.parse_configuration(answer.stdout)
            except mlxconfig.UnreadableConfigurationError as e:
                raise UnreadableToolError(answer.error or answer.stderr.strip() or str(e)) from e
        asked.remove(refused)
    return {}


def read_firmware(probe: Probe, tool: str, address: str) -> flint.Firmware:
    """The firmware of the adapter. Raises UnreadableToolError with the reason if the tool does not show it."""
    answer = probe.run(flint.query_argv(tool, address), timeout_s=FIRMWARE_TIMEOUT_S)
    try:
        return flint.parse_firmware(answer.stdout)
    except flint.UnreadableFirmwareError as e:
        raise UnreadableToolError(answer.error or answer.stderr.strip() or str(e)) from e
