"""The commands `validate` and `plan` against a fake node: an SSH server in this process."""

from __future__ import annotations

import asyncio
import json
import time
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

import pytest

from clusterctl import main
from clusterctl.model.exit_codes import ExitCode
from support.fake_answers import FakeNode
from support.roles import ROOT
from support.ssh_node import SshNode

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from support.ssh_node import Process

COMMON = ROOT / "inventory" / "common"
# Roles that are verified on the node; the fake node has no BMC.
ON_NODE = ["hardware", "kernel", "os_tuning", "hugepages", "nvidia_driver", "nccl", "gpu_tools"]


def good(answer: dict[str, Any]) -> object:
    return answer


def one_fails(answer: dict[str, Any]) -> object:
    answer["findings"][-1] |= {"outcome": "fail", "expected": "64", "found": "0", "hint": "look"}
    return answer


def garbage(_answer: dict[str, Any]) -> object:
    return b"Welcome!\n"


def run(folder: Path, edit: Callable[[dict[str, Any]], object], *words: str, **variables: object) -> int:
    with SshNode(folder / "node", FakeNode(edit)) as node:
        site = node.write_site(folder / "site", **{"node_roles": ON_NODE, **variables})
        return main.call(["--state-dir", str(folder / "state"), words[0], "n1", "-i", str(COMMON), "-i", str(site), *words[1:]])


@pytest.mark.parametrize(
    ("edit", "variables", "code", "last"),
    [
        (good, {}, ExitCode.OK, "1 node: 1 as declared. 7 checks: 7 pass."),
        (one_fails, {}, ExitCode.VALIDATOR_FAILED, "1 node: 1 not as declared. 7 checks: 6 pass, 1 fail."),
        (garbage, {}, ExitCode.VALIDATOR_FAILED, "1 node: 1 crashed. 0 checks: none."),
        (good, {"ansible_port": 1}, ExitCode.UNREACHABLE, "1 node: 1 unreachable. 0 checks: none."),
        (good, {"ansible_user": "nobody"}, ExitCode.UNREACHABLE, "1 node: 1 auth failed. 0 checks: none."),
        (
            one_fails,
            {"waivers": [{"check": "*", "reason": "why", "owner": "ops", "expires": "2999-01-01"}]},
            ExitCode.OK,
            "1 node: 1 as declared. 7 checks: 6 pass, 1 waived.",
        ),
    ],
)
def test_validate_reports_the_outcome_of_a_node(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], edit: Any, variables: dict[str, object], code: ExitCode, last: str
) -> None:
    assert run(tmp_path, edit, "validate", **variables) == code
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == last
    assert printed.err == ""


@pytest.mark.parametrize(
    ("words", "variables", "code", "error"),
    [
        (("-k", "no_such_role"), {}, ExitCode.USAGE, "no check matches 'no_such_role'"),
        ((), {"ansible_ssh_common_args": "-o Nonsense=1"}, ExitCode.CONFIG, "'-o Nonsense=1' is not supported"),
        ((), {"waivers": [{"check": "*", "reason": "why", "owner": "ops"}]}, ExitCode.CONFIG, "expires"),
    ],
)
def test_invalid_options_and_variables_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], words: tuple[str, ...], variables: dict[str, object], code: ExitCode, error: str
) -> None:
    assert run(tmp_path, good, "validate", *words, **variables) == code
    printed = capsys.readouterr()
    assert printed.out == ""
    assert error in printed.err
    assert "hint: " in printed.err


async def mute(_process: Process) -> None:
    await asyncio.Event().wait()


@pytest.mark.parametrize("verb", ["validate", "drift"])
def test_a_node_that_never_answers_times_out_and_does_not_block_others(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], verb: str
) -> None:
    """It uses up its own time limit, even with --forks 1, and never passes."""
    with SshNode(tmp_path / "mute", mute) as silent, SshNode(tmp_path / "good", FakeNode()) as good_node:
        layers = [silent.write_site(tmp_path / "a", node_roles=ON_NODE), good_node.write_site(tmp_path / "b", node_roles=ON_NODE)]
        (layers[1] / "hosts.json").write_text((layers[1] / "hosts.json").read_text().replace('"n1"', '"n2"'))
        words = ["--state-dir", str(tmp_path / "state"), verb, "all", *(w for layer in (COMMON, *layers) for w in ("-i", str(layer)))]
        began = time.monotonic()
        assert main.call([*words, "--timeout", "2", "--forks", "1", "-o", "json"]) == ExitCode.UNREACHABLE
        assert time.monotonic() - began < 20
    document = json.loads(capsys.readouterr().out)
    if verb == "validate":
        assert {n["name"]: (n["status"], n["detail"]) for n in document["nodes"]} == {
            "n1": ("timed_out", "no answer within 2 s"),
            "n2": ("ok", ""),
        }
    else:
        assert document["lost"] == [{"node": "n1", "status": "timed_out", "detail": "no answer within 2 s"}]
        assert document["views"] == {"read-only": 1}


def test_validate_writes_junit(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, one_fails, "validate", "-o", "junit") == ExitCode.VALIDATOR_FAILED
    (suite,) = ET.fromstring(capsys.readouterr().out)  # noqa: S314 our own text
    assert (suite.get("tests"), suite.get("failures")) == ("7", "1")


@pytest.mark.parametrize(
    ("edit", "code", "last"),
    [
        (good, ExitCode.OK, "Plan: 0 nodes, 0 roles to change. 1 node would only be burned in."),
        (one_fails, ExitCode.CHANGES_PENDING, "Plan: 1 node, 1 role to change."),
    ],
)
def test_plan_reports_pending_changes_and_writes_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], edit: Any, code: ExitCode, last: str
) -> None:
    assert run(tmp_path, edit, "plan", "--out", str(tmp_path / "plan.json")) == code
    printed = capsys.readouterr()
    assert printed.out.splitlines()[-1] == last
    assert json.loads((tmp_path / "plan.json").read_text())["kind"] == "plan"


def test_a_plan_file_that_cannot_be_written_is_reported(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(tmp_path, good, "plan", "--out", str(tmp_path / "no" / "plan.json")) == ExitCode.CONFIG
    assert "hint: choose another file for --out" in capsys.readouterr().err
