"""Validate nodes that Ansible reaches by another connection than SSH: the same bundle, run by `playbooks/validate.yml`."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING

from clusterctl.adapters.private_directory import private_dir
from clusterctl.adapters.ssh.remote_result import RemoteResult
from clusterctl.adapters.validators import answer, request
from clusterctl.model.errors import ConfigError
from clusterctl.model.findings import NodeFindings, NodeStatus
from clusterctl.model.playbook_result import HostStatus, PlaybookStatus

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from clusterctl.adapters.validators.bundle import Bundle
    from clusterctl.adapters.validators.validation_settings import ValidationSettings
    from clusterctl.model.node import Node
    from clusterctl.model.playbook_result import HostOutcome

_KEPT_IN = "/var/lib/clusterctl"


def validate_over_ansible(
    nodes: Sequence[Node], bundle: Bundle, settings: ValidationSettings, inventory: Sequence[Path]
) -> tuple[NodeFindings, ...]:
    """The result of every node: its findings, or the reason why it has none.

    Raises:
        ConfigError: no inventory is given, or Ansible could not be started.
    """
    if not inventory:
        how = nodes[0].connection
        declared = f"ansible_connection {how.kind!r}" + (f", ansible_become_method {how.become_method!r}" if how.by_sudo else "")
        raise ConfigError(detail=f"{nodes[0].name} has {declared}: its inventory is needed", hint="give -i")
    began = time.monotonic()
    with private_dir() as work:
        requests = {n.name: request.make(n, bundle, settings) for n in nodes}
        outcomes = _play(requests, bundle, settings, tuple(inventory), work)
        spent = time.monotonic() - began
        return tuple(_findings(requests[n.name], outcomes[n.name], work / "answers" / n.name, spent) for n in nodes)


def _play(
    requests: dict[str, request.BundleRequest], bundle: Bundle, settings: ValidationSettings, inventory: tuple[Path, ...], work: Path
) -> dict[str, HostOutcome]:
    from clusterctl.adapters.ansible.runner import PlaybookRequest, run_playbook  # noqa: PLC0415 heavy, and most sites do not need it

    for name in ("requests", "answers"):
        (work / name).mkdir()
    for node, sent in requests.items():
        (work / "requests" / node).write_bytes(request.launcher_source() + sent.body)
    variables = {
        "validate_bundle": str(bundle.path),
        "validate_kept_as": f"{_KEPT_IN}/bundle-{bundle.sha256}.pyz",
        "validate_command": request.bundle_command("run", bundle, "")[1:],
        "validate_dir": str(work),
    }
    (work / "vars.json").write_text(json.dumps(variables))
    waves = -(-len(requests) // settings.concurrency)
    play = PlaybookRequest(
        playbook="validate.yml",
        inventory=inventory,
        nodes=tuple(requests),
        forks=min(settings.concurrency, len(requests)),
        timeout_s=int(settings.node_timeout_s * waves) + 60,
        extra_vars_file=work / "vars.json",
    )
    outcome = run_playbook(play, work / "ansible")
    if outcome.status is PlaybookStatus.COULD_NOT_START:
        raise ConfigError(detail=f"ansible-playbook could not be started: {outcome.detail}", hint=outcome.command_line)
    return dict(outcome.hosts)


def _findings(sent: request.BundleRequest, outcome: HostOutcome, file: Path, spent_s: float) -> NodeFindings:
    if outcome.status is not HostStatus.OK or not file.is_file():
        detail = "; ".join(f"{f.task}: {f.message}" for f in outcome.failures) or f"Ansible reports: {outcome.status.replace('_', ' ')}"
        status = NodeStatus.UNREACHABLE if outcome.status is HostStatus.UNREACHABLE else NodeStatus.CRASHED
        return NodeFindings(sent.node, status, detail, (), spent_s)
    recorded = json.loads(file.read_text())
    return answer.from_exit(sent, RemoteResult(recorded["rc"], recorded["stdout"].encode(), recorded["stderr"].encode()), spent_s)
