"""Which nodes booted so recently that what they fail may come up by itself. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clusterctl.core.check_names import names_check
from clusterctl_validators.finding import GOOD

if TYPE_CHECKING:
    from clusterctl.model.findings import NodeFindings
    from clusterctl.model.validator_traits import ValidatorTraits

# As long as playbooks/reboot.yml waits for links (300 s) and then for NVLinks and the fabric (300 s).
SETTLED_S = 600.0


def coming_up(found: NodeFindings, traits: ValidatorTraits) -> tuple[str, ...]:
    """The checks that a node which booted less than ten minutes ago still fails, if all of them pass by themselves after a boot; else none.

    A node that fails anything else is changed or refused for that, whatever its links do.
    """
    if found.uptime_s is None or found.uptime_s >= SETTLED_S:
        return ()
    failing = [f for f in found.findings if f.outcome not in GOOD]
    return tuple(f.check for f in failing) if all(names_check(traits.of(f.role).after_boot, f.check) for f in failing) else ()
