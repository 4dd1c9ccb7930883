"""How to reach the cluster: files of kubectl, or the account of the pod that clusterctl runs in."""

from __future__ import annotations

import os
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml
from kubernetes import client, config
from kubernetes.config import kube_config

from clusterctl.adapters.programs import command_check
from clusterctl.model.doctor_check import Check
from clusterctl.model.errors import PoolError

if TYPE_CHECKING:
    from collections.abc import Iterator

_HINT = "check kubeconfig and context of `pool:` in clusterctl.yml, or KUBECONFIG"
# What the client raises for a file that is YAML, and no kubeconfig.
_MALFORMED = (AttributeError, KeyError, TypeError, ValueError)


def load_credentials(kubeconfig: str, context: str) -> client.Configuration:
    """The configuration of the client. Where the file names a program or an identity provider, a token is requested from it.

    Raises:
        PoolError: there are no credentials, or they cannot be read.
    """
    loaded = client.Configuration()
    files = _files(kubeconfig, context)
    with _as_pool_errors():
        if files:
            config.load_kube_config(files, context or None, loaded)
        else:
            config.load_incluster_config(client_configuration=loaded)
    return loaded


def credentials_check(kubeconfig: str, context: str) -> Check:
    """Whether there are credentials that can be loaded. No token is requested; a program only has to be there."""
    name = "kubernetes credentials"
    try:
        with _as_pool_errors():
            files = _files(kubeconfig, context)
            shown, user = _user(files, context) if files else ("the account of the pod", None)
            if user is not None and "auth-provider" in user:
                return Check(name, ok=True, found=f"{shown}, by an identity provider, which was not contacted")
            if user is not None and "exec" in user and not ("token" in user or "tokenFile" in user):
                program = command_check(name, _plugin(user), f"install it, or {_HINT}")
                return replace(program, found=f"{shown}, by {program.found}")
        load_credentials(kubeconfig, context)
    except PoolError as e:
        return Check(name, ok=False, found=str(e), hint=e.hint)
    return Check(name, ok=True, found=shown)


def _files(kubeconfig: str, context: str) -> str:
    """The files, separated as in PATH; empty = there are none, and none is configured."""
    files = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    configured = kubeconfig or context
    # os.path: in a pod, its account may have no home, and pathlib raises where none is known
    present = any(os.path.exists(os.path.expanduser(f)) for f in files.split(os.pathsep) if f)  # noqa: PTH110, PTH111
    return files if configured or present else ""


def _user(files: str, context: str) -> tuple[str, Any]:
    """`context prod of user ada`, and what the files declare for that user; None where the context names none."""
    merged = kube_config.KubeConfigMerger(files).config
    if merged is None:
        raise config.ConfigException(f"{files} does not exist")
    active = kube_config.KubeConfigLoader(merged, context or None, config_base_path=None).current_context
    name = active["context"].get("user")
    if not name:
        return f"context {active['name']} without a user", None
    return f"context {active['name']} of user {name}", merged["users"].get_with_name(name)["user"]


def _plugin(user: Any) -> str:
    """The program that returns a token; one with a relative path lies beside the file that names it."""
    command = str(user["exec"]["command"])
    return str(Path(user.path).parent / command) if "/" in command else command


@contextmanager
def _as_pool_errors() -> Iterator[None]:
    try:
        yield
    except (config.ConfigException, yaml.YAMLError, OSError, *_MALFORMED) as e:
        raise PoolError(detail=f"no access to Kubernetes: {e}", hint=_HINT) from e
