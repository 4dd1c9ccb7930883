"""What passes between clusterctl and its Ansible worker: JSON, one request and one answer."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping


class Operation(StrEnum):
    """The request to the worker. CHECK is NODES with lint problems in the answer, not as a failure."""

    NODES = "nodes"
    CHECK = "check"
    HOSTS = "hosts"
    PROFILE = "profile"
    BMCS = "bmcs"
    BECOME = "become"
    SENT = "sent"
    PLACES = "places"
    WORDS = "words"


class Refusal(StrEnum):
    """Why an option of ansible-playbook cannot be handed on."""

    RUNS_NOTHING = "runs_nothing"
    PROMPTS = "prompts"
    PASSWORD_OF_ANSIBLE_ONLY = "password_of_ansible_only"  # noqa: S105 a reason
    OWN_OPTION = "own_option"
    OTHER_PLAYBOOK = "other_playbook"


class Failure(StrEnum):
    """Why the worker has no answer."""

    UNKNOWN_TARGET = "unknown_target"
    CONFIG = "config"
    USAGE = "usage"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class WorkerRequest:
    """A question to the worker.

    Attributes:
        layers: inventory sources, absolute, common first.
        target: a host pattern, or for PROFILE the name of a group.
        content: the folder of `playbooks/`.
        role_dirs: the folders of roles, the site's own first.
        words: for WORDS, options of ansible-playbook.
        paths: for PLACES, pairs of a node or group and a path into its variables (`gates_settings.rdma_pair.duration_s`).
    """

    operation: Operation
    layers: tuple[str, ...]
    content: str
    role_dirs: tuple[str, ...] = ()
    target: str = "all"
    limit: str | None = None
    extra_vars: tuple[str, ...] = ()
    vault_ids: tuple[str, ...] = ()
    paths: tuple[tuple[str, str], ...] = ()
    words: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return asdict(self)

    def has_sources_of(self, other: WorkerRequest) -> bool:
        """Whether the inventory that was read for the other request is the one of this request; extra variables come on top of it."""
        mine, theirs = ((r.layers, r.content, r.vault_ids) for r in (self, other))
        return mine == theirs

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> WorkerRequest:
        """The inverse of `to_dict`."""
        lists = {k: tuple(data[k]) for k in ("layers", "role_dirs", "extra_vars", "vault_ids", "words")}
        paths = tuple((owner, path) for owner, path in data["paths"])
        operation = Operation(data["operation"])
        return cls(operation=operation, content=data["content"], target=data["target"], limit=data["limit"], paths=paths, **lists)
