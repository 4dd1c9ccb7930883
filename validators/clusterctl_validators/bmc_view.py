"""The state of a BMC, for validators with SCOPE = "bmc". It is read on the controller, because a node cannot reach its BMC."""

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any, Callable, Dict, List, Mapping, Sequence

from clusterctl_tools.bios import matching
from clusterctl_tools.boot_order import BootOption
from clusterctl_tools.chassis_part import ChassisPart


def _nothing(_path: str) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True)
class BmcView:
    """One reading of one BMC.

    Attributes:
        vendor: whose attribute names it uses; empty if unknown.
        current: the attributes in force.
        pending: contents of its settings resource: all attributes, or only those that the next reset changes.
        firmware: version by Id, of the requested components.
        resource: returns any other resource by its path (`/redfish/v1/Chassis/1`), {} if there is none; raises if the BMC does not answer.
        leak_detectors: of each chassis that was requested, the state of each detector in place: `OK`, `Warning`, `Critical`, empty = not stated.
        chassis_parts: of each kind that was requested (`power_supplies`, `fans`), the parts in place.
        boot_order: in force; `pending_boot_order` after the next reset. Both empty if it has none, or none is declared.
        boot_override: what the next boot starts from instead (`Pxe`, `Hdd`); empty without an override, or if no order is declared.
    """

    vendor: str
    current: Mapping[str, Any] = field(default_factory=dict)
    pending: Mapping[str, Any] = field(default_factory=dict)
    firmware: Mapping[str, str] = field(default_factory=dict)
    resource: Callable[[str], Mapping[str, Any]] = _nothing
    boot_order: Sequence[BootOption] = ()
    pending_boot_order: Sequence[BootOption] = ()
    boot_override: str = ""
    leak_detectors: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    chassis_parts: Mapping[str, Sequence[ChassisPart]] = field(default_factory=dict)

    def attributes(self, names: Sequence[str]) -> List[str]:
        """The attributes with one of these names, with or without a suffix (`SMTControl_00CB`)."""
        return sorted({a for name in names for a in matching(name, self.current)})

    def next_boot(self, attribute: str) -> Any:
        """The value of an attribute after the next reset."""
        value = self.pending.get(attribute)
        return self.current.get(attribute) if value is None else value

    def components(self, globs: Sequence[str]) -> Dict[str, str]:
        """Version by Id of the components that match."""
        return {name: self.firmware[name] for name in sorted(self.firmware) if any(fnmatchcase(name, g) for g in globs)}
