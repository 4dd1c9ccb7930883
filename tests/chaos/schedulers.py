"""Schedulers that lose answers and outlive the process that asks them: what they do lies in the folder of a rack."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from chaos.rack import NAMES
from clusterctl.adapters.pools.kubernetes import KubernetesPool, KubernetesSettings
from clusterctl.adapters.pools.kubernetes_api import KubernetesApi
from clusterctl.adapters.pools.local import LocalPool
from clusterctl.adapters.pools.slurm import SlurmPool, SlurmSettings
from clusterctl.adapters.store import Store
from support.lossy_kube import LossyKube
from support.lossy_pool import LossyPool
from support.lossy_slurm import LossySlurm
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from contextlib import ExitStack
    from pathlib import Path

    from clusterctl.adapters.pools.base import Pool

SCHEDULES: list[dict[str, Any]] = load_yaml((ROOT / "tests" / "cases" / "lost_answers" / "schedules.yml").read_text())
POOLS = ("local", "slurm", "kubernetes")


class Scheduler(Protocol):
    """One kind of pool. `folder` is that of a rack, `url` the address of its database."""

    kind: ClassVar[str]

    def start(self, folder: Path, /) -> None:
        """All nodes of a new rack are known, and out."""
        ...

    def lose(self, folder: Path, faults: list[Any], /) -> None:
        """What happens to the next calls."""
        ...

    def pool(self, folder: Path, store: Store, /) -> Pool:
        """The pool as a process of the rack has it."""
        ...

    def members(self, folder: Path, url: str, /) -> frozenset[str]:
        """The nodes on which jobs would start, read past the pool."""
        ...


class Local:
    """The table of the store, behind calls that fail."""

    kind: ClassVar[str] = "local"

    def __init__(self) -> None:
        self._faults: list[str] = []

    def start(self, _folder: Path) -> None:
        """Nothing: a node that the table does not have is out."""

    def lose(self, _folder: Path, faults: list[str]) -> None:
        """See `Scheduler.lose`; for every process anew."""
        self._faults = faults

    def pool(self, _folder: Path, store: Store) -> Pool:
        """See `Scheduler.pool`."""
        pool = LossyPool(store)
        pool.now(self._faults)
        return pool

    def members(self, _folder: Path, url: str) -> frozenset[str]:
        """See `Scheduler.members`."""
        with Store.open(url) as store:
            return LocalPool.create(store).members()


class Slurm:
    """A scontrol in the folder of the rack."""

    kind: ClassVar[str] = "slurm"

    def start(self, folder: Path) -> None:
        """See `Scheduler.start`."""
        LossySlurm(folder / "slurm", NAMES)

    def lose(self, folder: Path, faults: list[Any]) -> None:
        """See `Scheduler.lose`."""
        LossySlurm(folder / "slurm").faults(faults)

    def pool(self, folder: Path, store: Store) -> Pool:
        """See `Scheduler.pool`; changes PATH of this process."""
        os.environ["PATH"] = f"{folder / 'slurm'}:{os.environ['PATH']}"
        return SlurmPool.create(store, SlurmSettings())

    def members(self, folder: Path, _url: str) -> frozenset[str]:
        """See `Scheduler.members`."""
        return LossySlurm(folder / "slurm").members()


@dataclass
class Kubernetes:
    """One API server of this process for all racks."""

    kube: LossyKube
    kind: ClassVar[str] = "kubernetes"

    def start(self, folder: Path) -> None:
        """See `Scheduler.start`."""
        self._at(folder).start(NAMES)

    def lose(self, folder: Path, faults: list[Any]) -> None:
        """See `Scheduler.lose`."""
        self._at(folder).faults(faults)

    def pool(self, _folder: Path, _store: Store) -> Pool:
        """See `Scheduler.pool`."""
        settings = KubernetesSettings(kubeconfig=str(self.kube.kubeconfig))
        return KubernetesPool(settings, KubernetesApi(settings.kubeconfig, settings.context, settings.timeout_s))

    def members(self, folder: Path, _url: str) -> frozenset[str]:
        """See `Scheduler.members`."""
        return self._at(folder).members()

    def _at(self, folder: Path) -> LossyKube:
        self.kube.folder = folder
        return self.kube


def scheduler(kind: str, folder: Path, stack: ExitStack) -> Scheduler:
    """One of `POOLS`; what it needs beside racks lies in `folder`."""
    if kind != "kubernetes":
        return Slurm() if kind == "slurm" else Local()
    kube = stack.enter_context(LossyKube(folder))
    KubernetesApi(str(kube.kubeconfig), "", 30).nodes("")  # the client loads itself with its first request: here, and not in every process
    return Kubernetes(kube)
