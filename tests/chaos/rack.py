"""Nodes that outlive the process that works on them: what is wrong on each is in a file."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.store import Store
from clusterctl.model.state import State
from clusterctl.workflows.drain import drain
from clusterctl.workflows.provision.resume import take_over
from support.provisioning import World

if TYPE_CHECKING:
    from collections.abc import Callable

    from chaos.schedulers import Scheduler
    from clusterctl.model.playbook_result import HostOutcome
    from clusterctl.model.provision import ProvisionResult

NAMES = ("r12-n01", "r12-n02", "r12-n03", "r12-n04")
NODES_FILE = "nodes.json"


@dataclass
class DiskRack(World):
    """A rack whose nodes keep their state on disk; `r12-n04` fails a gate.

    Attributes:
        address: of the database.
        scheduler: instead of the pool `local`.
    """

    names: tuple[str, ...] = NAMES
    address: str = ""
    scheduler: Scheduler | None = None

    @property
    def url(self) -> str:
        return self.address

    def __post_init__(self) -> None:
        self.gate_fails, self.reboot, self.pairs = {NAMES[3]}, {"kernel"}, True
        file = self.state_dir / NODES_FILE
        if file.exists():
            self.bad = {n: set(roles) for n, roles in json.loads(file.read_text()).items()}

    def save(self) -> None:
        """Write what is wrong on each node."""
        self.state_dir.mkdir(parents=True, exist_ok=True)
        (self.state_dir / NODES_FILE).write_text(json.dumps({n: sorted(roles) for n, roles in self.bad.items()}))

    def _played(self, name: str, *rest: Any) -> HostOutcome:
        outcome = super()._played(name, *rest)
        self.save()
        self.before(f"played {name}")
        return outcome

    def provision(self) -> ProvisionResult:
        """The same command again: closes what a killed run left, and goes on. `force`: the pool is the rack."""
        with Store.open(self.url) as store:
            take_over(store, self.names)
            self.pool = self.scheduler.pool(self.state_dir, store) if self.scheduler else None
            return self.run(force=True)


def fresh(rack: DiskRack) -> None:
    """Nothing is provisioned yet."""
    rack.bad = {n: {"kernel", "hugepages"} for n in rack.names}
    rack.save()
    Store.open(rack.url).close()


def drifted(rack: DiskRack) -> None:
    """Two admitted nodes differ from their declared state, and a person drained the third."""
    fresh(rack)
    rack.provision()
    with Store.open(rack.url) as store:
        third = store.nodes([NAMES[2]])
        drain(store, rack.pool or LocalPool.create(store), third, operator="bob", reason="fan", owner="bob", to=State.DRAINED)
    rack.bad |= {NAMES[0]: {"kernel"}, NAMES[1]: {"hugepages"}}
    rack.save()


SCENARIOS: dict[str, Callable[[DiskRack], None]] = {"fresh": fresh, "drifted": drifted}
