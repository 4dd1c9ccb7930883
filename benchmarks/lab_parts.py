"""The parts of the suite that need lab nodes: CPU on the node, peers, playbook runner."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import apply_cost
import node_answer
import node_cost
import peer_ansible
import peer_cost
import peer_pyinfra
import peer_testinfra
import runner_overhead
from cpu_cost import CannotMeasureError
from lab_site import Lab, running_lab

from clusterctl.model.errors import ClusterctlError

if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import ExitStack
    from pathlib import Path

    from node_answer import NodeAnswer
    from targets import Numbers

PREFIX = "lab"
PART_NAMES = ("lab.node", "lab.testinfra", "lab.pyinfra", "lab.ansible", "lab.runner", "lab.apply")
_WITH_PEERS = ("lab.testinfra", "lab.pyinfra", "lab.ansible")
_TURNS_UNCHANGED, _TURNS_CHANGED, _TURNS_APPLY = 2, 3, 3


class Suite(Protocol):
    """The suite that runs the parts."""

    reasons: dict[str, str]

    def wants(self, *names: str) -> bool:
        """Whether one of the parts is selected."""

    def part(self, name: str, measure: Callable[[], Numbers]) -> None:
        """Run it."""


def measure_lab_parts(suite: Suite, folder: Path, rack: int, stack: ExitStack) -> Path | None:
    """Run all parts on one lab. Returns the file with the answer of its first node for fleets to replay; None without a lab."""
    try:
        one = stack.enter_context(running_lab(folder / "site", rack))
        node = node_answer.load_node(one, one.names[0])
        bundle = node_answer.query_node(one, node)
    except (CannotMeasureError, ClusterctlError) as e:
        suite.reasons[PREFIX] = f"no lab nodes: {e}"
        return None
    answer = one.site / "answer.json"
    answer.write_text(bundle.replayable())
    suite.part("lab.node", lambda: node_cost.measure_node(one, node, bundle))
    peers = _installed(suite, folder / "peers") if suite.wants(*_WITH_PEERS) else None
    if peers:
        _peers(suite, one, peers, bundle)
    suite.part(
        "lab.runner.changed", lambda: _runner_numbers("runner_overhead_changed_pct", runner_overhead.overhead_changed(one, _TURNS_CHANGED))
    )
    suite.part(
        "lab.runner.unchanged",
        lambda: _runner_numbers("runner_overhead_pct", runner_overhead.overhead_unchanged(one, _TURNS_UNCHANGED)) | _run_record_files(one),
    )
    suite.part("lab.apply", lambda: apply_cost.apply_unchanged(one, _TURNS_APPLY))
    if peers:  # last, because they have no targets
        suite.part("lab.ansible.mitogen", lambda: peer_ansible.mitogen(one, peers).numbers("ansible_mitogen"))
        suite.part("lab.ansible.default", lambda: peer_ansible.default(one, peers).numbers("ansible_check_default"))
    return answer


def _installed(suite: Suite, folder: Path) -> Path | None:
    try:
        return peer_cost.peer_environment(folder)
    except CannotMeasureError as e:
        suite.reasons["lab.peers"] = str(e)
        return None


def _peers(suite: Suite, one: Lab, peers: Path, bundle: NodeAnswer) -> None:
    for backend in peer_testinfra.BACKENDS:

        def testinfra(backend: str = backend) -> Numbers:
            return peer_testinfra.measure_backend(one, peers, backend, bundle).numbers(f"testinfra_{backend}")

        suite.part(f"lab.testinfra.{backend}", testinfra)

    def pyinfra() -> Numbers:
        cost, settings = peer_pyinfra.dry_run(one, peers, bundle)
        return cost.numbers("pyinfra_dry") | {"pyinfra_settings": settings}

    suite.part("lab.pyinfra", pyinfra)
    suite.part("lab.ansible.tuned", lambda: peer_ansible.tuned(one, peers).numbers("ansible_check"))


def _runner_numbers(key: str, cost: runner_overhead.Overhead) -> Numbers:
    name = key.removesuffix("_pct")
    return {key: cost.pct, f"{name}_bare_cpu_s": cost.bare_cpu_s, f"{name}_through_cpu_s": cost.through_cpu_s, "runner_files": cost.files}


def _run_record_files(one: Lab) -> Numbers:
    """The number of files in the run directory of `provision` for both nodes."""
    return {"run_files": sum(1 for f in one.run_dir.rglob("*") if f.is_file())}
