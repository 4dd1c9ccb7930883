"""What passes between clusterctl and its Ansible worker: JSON, one request and one answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Operation(StrEnum):
    """What the worker is asked for."""

    NODES = "nodes"
    HOSTS = "hosts"
    PROFILE = "profile"
    BMCS = "bmcs"
    BECOME = "become"


class Failure(StrEnum):
    """Why the worker has no answer."""

    UNKNOWN_TARGET = "unknown_target"
    CONFIG = "config"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    """A question to the worker.

    Attributes:
        layers: inventory sources, absolute, common first.
        target: a host pattern, or for PROFILE the name of a group.
        content: the folder of `roles/` and `playbooks/`.
    """

    operation: Operation
    layers: tuple[str, ...]
    content: str
    target: str = "all"
    limit: str | None = None
    extra_vars: tuple[str, ...] = ()
    vault_ids: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> WorkerRequest:
        """The inverse of `to_dict`."""
        lists = {k: tuple(data[k]) for k in ("layers", "extra_vars", "vault_ids")}
        return cls(operation=Operation(data["operation"]), content=data["content"], target=data["target"], limit=data["limit"], **lists)
