"""Reads the firmware and the named NV parameters of one adapter with the tools of the vendor or of the distribution."""

from typing import Dict, Sequence

from clusterctl_validators import nv_config
from clusterctl_validators.nv_config import Firmware, Parameter, UnreadableToolError
from clusterctl_validators.probe import Probe

# Two named parameters take 1.4 s of CPU time on ConnectX-6 Dx, so 2.9 s at half a core; all parameters take 13.3 s
# (k8snetworkplumbingwg/sriov-network-operator issue 835, mstflint 4.30.0).
QUERY_TIMEOUT_S = 8.0
# No public source times it; assumed to take no longer than a query.
FIRMWARE_TIMEOUT_S = 8.0


def read_parameters(probe: Probe, tool: str, address: str, names: Sequence[str]) -> Dict[str, Parameter]:
    """The parameters that the adapter has; those that it lacks or hides are left out.

    The tool refuses a query as a whole for one such parameter, so it is asked again without it.

    Raises:
        UnreadableToolError: the tool gives no configuration; the text gives the reason.
    """
    asked = list(names)
    while asked:
        answer = probe.run([tool, "-d", address, "-e", "query", *asked], timeout_s=QUERY_TIMEOUT_S)
        refused = nv_config.refused_parameter(answer.stdout + answer.stderr)
        if refused not in asked:
            try:
                return nv_config.parse_configuration(answer.stdout)
            except UnreadableToolError as e:
                raise UnreadableToolError(answer.error or answer.stderr.strip() or str(e)) from e
        asked.remove(refused)
    return {}


def read_firmware(probe: Probe, tool: str, address: str) -> Firmware:
    """The firmware of the adapter. Raises UnreadableToolError with the reason if the tool does not show it."""
    answer = probe.run([tool, "-d", address, "query"], timeout_s=FIRMWARE_TIMEOUT_S)
    try:
        return nv_config.parse_firmware(answer.stdout)
    except UnreadableToolError as e:
        raise UnreadableToolError(answer.error or answer.stderr.strip() or str(e)) from e
