"""The turns of the racks: all nodes that stay in a state at once, those that go down and come back within the reboot budget."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

from clusterctl.core.reboot_budget import at_once
from clusterctl.model.power import PowerAction, PowerOutcome, PowerReport

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from clusterctl.workflows.power.switch import NodeSwitch

_BMCS_AT_ONCE = 64
_COME_BACK = frozenset({PowerAction.CYCLE, PowerAction.AC_CYCLE, PowerAction.REBOOT})


async def switch_racks(
    racks: Mapping[str, Sequence[NodeSwitch]], action: PowerAction, budget: str, ended: Callable[[PowerReport], None]
) -> dict[str, PowerReport]:
    """Switch the nodes of each rack; `ended` is called with each node as it ends.

    A node that goes down and does not come back keeps its place in the budget, so that a fault of all of them costs no more nodes than that.
    """
    found: dict[str, PowerReport] = {}

    async def place(waiting: list[NodeSwitch]) -> None:
        while waiting:
            switch = waiting.pop(0)
            report = await switch.run(action)
            found[report.node] = report
            ended(report)
            if report.down and action in _COME_BACK:
                return

    async def one_rack(rack: str, switches: Sequence[NodeSwitch]) -> None:
        most = at_once(budget, len(switches)) if action in _COME_BACK else len(switches)
        waiting = list(switches)
        await asyncio.gather(*(place(waiting) for _ in range(min(most, len(switches)))))
        lost = ", ".join(n.node for n in switches if n.node in found and found[n.node].down)
        where = rack or "the nodes without a rack"
        for switch in waiting:
            why = f"not tried: {lost} did not come back, and no more than {most} of {where} may be down at once"
            found[switch.node] = PowerReport(switch.node, PowerOutcome.NOT_TRIED, detail=why)
            ended(found[switch.node])

    pool = ThreadPoolExecutor(_BMCS_AT_ONCE, "bmc")
    asyncio.get_running_loop().set_default_executor(pool)
    await asyncio.gather(*(one_rack(rack, switches) for rack, switches in racks.items()))
    return found
