"""The ways the worker can fail, and Ansible's exceptions turned into one of them."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.inventory.ansible_worker.origins import where
from clusterctl.adapters.inventory.wire import Failure
from clusterctl.model.problem import shown_path

if TYPE_CHECKING:
    from collections.abc import Iterator

    from ansible.errors import AnsibleError

    from clusterctl.model.problem import Problem


_ORIGIN = re.compile(r"^Origin: (?P<file>/.+?):(?P<line>\d+)", re.MULTILINE)
_INVENTORY_HINT = "correct the inventory; `ansible-inventory --list` shows the same error"
_VAULT_HINT = (
    "give the vault password: --vault-id FILE or ANSIBLE_VAULT_PASSWORD_FILE; "
    "single values (`ansible-vault encrypt_string`) are decrypted only where needed"
)


class WorkerError(Exception):
    """An expected failure; `to_dict` is what the other side gets."""

    def __init__(self, failure: Failure, **values: Any) -> None:
        super().__init__(failure.value)
        self.failure = failure
        self.values = values

    def to_dict(self) -> dict[str, Any]:
        """The JSON form."""
        return {"failure": self.failure.value, **self.values}


def config_failure(detail: str, hint: str = "") -> WorkerError:
    """The inventory cannot be used."""
    return WorkerError(Failure.CONFIG, detail=detail, hint=hint)


def usage_failure(detail: str, hint: str) -> WorkerError:
    """A word of the command line cannot be meant."""
    return WorkerError(Failure.USAGE, detail=detail, hint=hint)


def invalid(problems: tuple[Problem, ...]) -> WorkerError:
    """The declared state is invalid."""
    return WorkerError(Failure.INVALID, problems=[p.to_dict() for p in problems])


def from_ansible(error: AnsibleError, hint: str = _INVENTORY_HINT) -> WorkerError:
    """An error of Ansible while it read inventory or variables, with file and line where it names them."""
    chain = list(error_chain(error))
    detail = next((f"{p}: {error_message(e)}" for e in chain if (p := _place(e))), error_message(error))
    if any("vault" in str(e).lower() for e in chain):
        return config_failure(detail, _VAULT_HINT)
    return config_failure(detail, hint)


def error_chain(error: BaseException) -> Iterator[BaseException]:
    """An error, then what caused it, each once."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        current = current.__cause__ or current.__context__


def is_placed(error: BaseException) -> bool:
    """Whether an error of Ansible, or what caused it, names a file."""
    return any(_place(e) for e in error_chain(error))


def _place(error: BaseException) -> str:
    file, line = where(getattr(error, "obj", None))
    if not line and (shown := _ORIGIN.search(str(getattr(error, "_formatted_source_context", "") or ""))):
        file, line = shown["file"], int(shown["line"])
    return f"{shown_path(file)}:{line}" if line else shown_path(file)


def error_message(error: BaseException) -> str:
    """The message of an error, on one line."""
    message = str(getattr(error, "message", "") or error)
    return " ".join(message.split())
