"""From a request to its reply, with Ansible in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clusterctl.adapters.inventory.ansible_worker.become import become_passwords
from clusterctl.adapters.inventory.ansible_worker.bmcs import bmcs
from clusterctl.adapters.inventory.ansible_worker.failures import WorkerError, config_failure
from clusterctl.adapters.inventory.ansible_worker.resolve import Resolution
from clusterctl.adapters.inventory.ansible_worker.sent_variables import sent_variables
from clusterctl.adapters.inventory.ansible_worker.session import open_session
from clusterctl.adapters.inventory.ansible_worker.targets import example_host, select
from clusterctl.adapters.inventory.ansible_worker.written_places import written_places
from clusterctl.adapters.inventory.wire import Operation

if TYPE_CHECKING:
    from clusterctl.adapters.inventory.ansible_worker.session import Session
    from clusterctl.adapters.inventory.wire import WorkerRequest

_WITH_SECRETS = {Operation.BMCS: bmcs, Operation.BECOME: become_passwords, Operation.SENT: sent_variables}


def reply_to(request: WorkerRequest, session: Session | None = None) -> dict[str, Any]:
    """The answer or the error, as the parent reads it; `session` is one that was opened for the same sources."""
    try:
        return {"ok": answer(request, session)}
    except WorkerError as e:
        return {"error": e.to_dict()}
    except (MemoryError, RecursionError) as e:
        return {"error": _too_large(e).to_dict()}


def answer(request: WorkerRequest, session: Session | None = None) -> dict[str, Any]:
    """What was requested.

    Raises:
        WorkerError: there is no answer.
    """
    if request.operation is Operation.WORDS:
        from clusterctl.adapters.inventory.ansible_worker.playbook_words import read_words  # noqa: PLC0415 a tenth of the imports

        return read_words(request.words)
    session = session or open_session(request)
    if request.operation is Operation.PROFILE:
        return Resolution(session, [example_host(session.inventory, request.target)], request).nodes()
    if request.operation is Operation.PLACES:
        return written_places(session, request.paths)
    secret = _WITH_SECRETS.get(request.operation)
    if secret:
        return secret(session, select(session.inventory, request.target, request.limit))
    everybody = request.operation is Operation.HOSTS and request.target == "all" and not request.limit
    hosts = session.inventory.get_hosts() if everybody else select(session.inventory, request.target, request.limit)
    resolution = Resolution(session, hosts, request)
    return resolution.topology() if request.operation is Operation.HOSTS else resolution.nodes()


def _too_large(error: Exception) -> WorkerError:
    what = "takes more than half of the memory" if isinstance(error, MemoryError) else "is nested too deeply"
    return config_failure(f"the inventory {what}", "look for values that contain themselves, and for templates that grow")
