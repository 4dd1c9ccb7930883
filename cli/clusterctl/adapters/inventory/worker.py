"""Start the Ansible worker, give it one request, turn its answer into data or a typed error."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from clusterctl.adapters.ansible.environment import minimal_environment
from clusterctl.adapters.inventory.invalid import spec_invalid_error
from clusterctl.adapters.inventory.kept import ask_kept_inventory, keep_inventory
from clusterctl.adapters.inventory.wire import Failure
from clusterctl.model.errors import ClusterctlError, ConfigError, UnknownTargetError, UsageProblemError
from clusterctl.model.problem import Problem

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from clusterctl.adapters.inventory.wire import WorkerRequest

_TIMEOUT_S = 600


class WorkerCrashedError(ClusterctlError):
    """The worker ended without an answer."""

    template = "inventory and spec could not be resolved: {detail}"
    hint_template = "run again with --debug before the verb and report what it shows"


def query_worker(request: WorkerRequest) -> dict[str, Any]:
    """The worker's answer.

    Raises:
        UnknownTargetError: no node matches.
        ConfigError: the inventory cannot be used.
        SpecInvalidError: the declared state breaks a schema.
        WorkerCrashedError: anything else.
    """
    request = replace(request, extra_vars=tuple(map(_seen_from_here, request.extra_vars)))
    reply = ask_kept_inventory(request, _TIMEOUT_S) or _ask_new_worker(request)
    if "error" in reply:
        raise _error(reply["error"], request)
    result: dict[str, Any] = reply["ok"]
    return result


@contextmanager
def inventory_kept_open(request: WorkerRequest) -> Iterator[dict[str, str]]:
    """Read the sources of a request once for many processes: see `keep_inventory`."""
    with keep_inventory(request, _argv(), _environment(request)) as variables:
        yield variables


def _argv() -> list[str]:
    return [sys.executable, "-m", "clusterctl.adapters.inventory.ansible_worker", str(os.getpid())]


def _seen_from_here(words: str) -> str:
    """A value of `-e`, the file of `@FILE` with its whole path: the worker would look for it below the playbooks.

    Raises:
        ConfigError: there is no such file.
    """
    if not words.startswith("@"):
        return words
    file = Path(os.path.expanduser(words[1:])).absolute()  # noqa: PTH111 pathlib's own fails where there is no home
    if not file.exists() or file.is_dir():
        reason = "is a directory" if file.is_dir() else "no such file"
        raise ConfigError(detail=f"--extra-vars: {words[1:]}: {reason}", hint="name a file of YAML or JSON: -e @FILE")
    return f"@{file}"


def _ask_new_worker(request: WorkerRequest) -> dict[str, Any]:
    try:
        done = subprocess.run(
            _argv(),
            input=json.dumps(request.to_dict()),
            capture_output=True,
            text=True,
            encoding="utf-8",
            check=False,
            timeout=_TIMEOUT_S,
            env=_environment(request),
        )
    except subprocess.TimeoutExpired as e:
        raise WorkerCrashedError(detail=f"no answer after {_TIMEOUT_S} s") from e
    try:
        reply: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        last = next((line for line in reversed(done.stderr.splitlines()) if line.strip()), "it printed nothing")
        raise WorkerCrashedError(detail=f"exit status {done.returncode}: {last.strip()}") from RuntimeError(done.stderr)
    return reply


def _error(error: Mapping[str, Any], request: WorkerRequest) -> ClusterctlError:
    match Failure(error["failure"]):
        case Failure.UNKNOWN_TARGET:
            return UnknownTargetError(target=error["target"], near=error["near"], layers=", ".join(request.layers))
        case Failure.CONFIG:
            return ConfigError(detail=error["detail"], hint=error["hint"])
        case Failure.USAGE:
            return UsageProblemError(detail=error["detail"], hint=error["hint"])
        case Failure.INVALID:
            return spec_invalid_error(Problem.from_dict(p) for p in error["problems"])


def _environment(request: WorkerRequest) -> dict[str, str]:
    """What an ansible-playbook of ours gets, so that both render the same; read strictly, what Ansible only warns of is an error here."""
    kept = {k: os.environ[k] for k in ("PYTHONPATH",) if k in os.environ}
    return (
        minimal_environment(os.environ, Path(request.content))
        | kept
        | {
            "ANSIBLE_INVENTORY_ANY_UNPARSED_IS_FAILED": "true",
            "ANSIBLE_DUPLICATE_YAML_DICT_KEY": "error",
            "ANSIBLE_NOCOLOR": "1",
            "ANSIBLE_DEPRECATION_WARNINGS": "0",
            "PYTHONUTF8": "1",
        }
    )
