"""The power of the host behind one BMC: its state, and resets of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.bmc.ac_power import find_ac_cycle
from clusterctl.model.power import PowerView
from clusterctl_tools.redfish import ROOT, BmcError, Redfish, one_system, well_formed

if TYPE_CHECKING:
    from collections.abc import Mapping

    from clusterctl.adapters.bmc.access import BmcAccess

_RESET = "#ComputerSystem.Reset"
_ALLOWED = "ResetType@Redfish.AllowableValues"
_TIMEOUT_S = 20.0
_STATES = {"on": "on", "off": "off", "poweringon": "off", "poweringoff": "on", "paused": "on"}


@dataclass(frozen=True, slots=True)
class BmcLimits:
    """How a BMC is queried.

    Attributes:
        timeout_s: limit of one request.
        verify: whether its certificate is verified.
        system_id: the Id of the system, if several could be meant.
        setting: the variable that sets it; empty where no role of the node has one.
    """

    timeout_s: float = _TIMEOUT_S
    verify: bool = True
    system_id: str = ""
    setting: str = ""

    @classmethod
    def of_role(cls, role: str, variables: Mapping[str, Any]) -> BmcLimits:
        """From the variables of a role that queries the BMC: `<role>_timeout_s`, `_verify_certificates` and `_system`, each with a default."""
        timeout_s = float(variables.get(f"{role}_timeout_s") or _TIMEOUT_S)
        verify = bool(variables.get(f"{role}_verify_certificates", True))
        setting = f"{role}_system"
        return cls(timeout_s, verify, str(variables.get(setting) or ""), setting if setting in variables else "")

    @classmethod
    def of(cls, roles: Mapping[str, Mapping[str, Any]]) -> BmcLimits:
        """From the declared state of a node: of its first role that queries the BMC and declares how; the defaults where it has none."""
        return next((cls.of_role(r, v) for r, v in roles.items() if f"{r}_verify_certificates" in v), cls())


class HostPower:
    """Opened by the first request, so that a BMC that is down is an error of its own node."""

    def __init__(self, access: BmcAccess, limits: BmcLimits) -> None:
        self._access, self._limits = access, limits
        self._ac: tuple[str, dict[str, str]] | None = None

    @well_formed()
    def view(self) -> PowerView:
        """The state now, and the resets that the BMC offers.

        Raises:
            BmcError: it cannot be queried, or has no system that can be switched.
        """
        client = self._client()
        system = self._system(client)
        return PowerView(
            power=power_of(system),
            serial=str(system.get("SerialNumber") or ""),
            resets=_offered(client, system["Actions"][_RESET]),
        )

    @well_formed()
    def reset(self, kind: str) -> None:
        """Run one of the resets of Redfish (`On`, `GracefulShutdown` ...).

        Raises:
            BmcError: the BMC refuses it, or cannot be reached.
        """
        client = self._client()
        target = str(self._system(client)["Actions"][_RESET].get("target") or "")
        client.post(target, {"ResetType": kind})

    @well_formed()
    def offers_ac_cycle(self) -> bool:
        """Whether all power can be taken from the machine for a moment.

        Raises:
            BmcError: it cannot be queried.
        """
        client = self._client()
        self._ac = find_ac_cycle(client.get, client.get(ROOT))
        return self._ac is not None

    @well_formed()
    def ac_cycle(self) -> None:
        """Do so, once `offers_ac_cycle` has found the way. The host must be off; the BMC is away for minutes afterwards.

        Raises:
            BmcError: the BMC refuses it, or cannot be reached.
        """
        if self._ac is None:
            raise BmcError("it offers no AC power cycle that is known")
        self._client().post(*self._ac)

    def _client(self) -> Redfish:
        if self._access.problem:
            raise BmcError(self._access.problem)
        return Redfish(self._access, self._limits.timeout_s, verify=self._limits.verify)

    def _system(self, client: Redfish) -> dict[str, Any]:
        return one_system(
            client.get, client.get(ROOT), self._limits.system_id, can_be_reset, what="a power switch", setting=self._limits.setting
        )


def power_of(system: dict[str, Any]) -> str:
    """`on`, `off` or `unknown`."""
    return _STATES.get(str(system.get("PowerState")).lower(), "unknown")


def can_be_reset(system: dict[str, Any]) -> bool:
    """Whether a system has a power switch."""
    return isinstance((system.get("Actions") or {}).get(_RESET), dict)


def _offered(client: Redfish, action: dict[str, Any]) -> tuple[str, ...]:
    """Beside the action (Dell) or in a resource of its own (Supermicro, AMI, OpenBMC); empty if the BMC does not report it."""
    info = str(action.get("@Redfish.ActionInfo") or "")
    values = action.get(_ALLOWED)
    if not values and info:
        parameters = client.get(info).get("Parameters") or []
        values = next((p.get("AllowableValues") for p in parameters if p.get("Name") == "ResetType"), None)
    return tuple(str(v) for v in values or ())
