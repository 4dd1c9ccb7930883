from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from clusterctl import main
from clusterctl.model.exit_codes import ExitCode
from clusterctl.model.plan import NodePlan, Plan, PlannedAction
from clusterctl.model.provision import ProvisionResult
from clusterctl.model.state import State
from clusterctl.workflows.provision import start

if TYPE_CHECKING:
    from pathlib import Path

    from clusterctl.adapters.config import Config
    from clusterctl.workflows.provision.request import ProgressListener, ProvisionRequest

WORK = Plan((NodePlan("r12-n01", PlannedAction.PROVISION, State.REGISTERED, "2 failing checks", roles=("kernel",)),))
CALM = Plan((NodePlan("r12-n01", PlannedAction.LEAVE, State.ADMITTED, "admitted, and as declared"),))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[ProvisionRequest]:
    """Requests as the flow gets them; the run asks the operator about a plan."""
    seen: list[ProvisionRequest] = []

    def run(_config: Config, request: ProvisionRequest, audience: ProgressListener) -> ProvisionResult:
        seen.append(request)
        return ProvisionResult("run", (), 1.0, declined=not audience.confirm(WORK))

    def plan(_config: Config, request: ProvisionRequest, _audience: ProgressListener) -> Plan:
        seen.append(request)
        return CALM if request.target == "calm" else WORK

    monkeypatch.setattr(start, "run_provision", run)
    monkeypatch.setattr(start, "plan_provision", plan)
    return seen


def test_ansibles_own_options_reach_the_flow_as_typed(asked: list[ProvisionRequest], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_VAULT_IDENTITY_LIST", "")
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", "")
    words = "provision rack-12 -l r12-n01 -e x=1 -e @f --vault-id lab@pw -D -vv -f 7 --tags kernel,nccl --partners a,b --force -y -- --skip-tags slow"
    assert main.call(words.split()) == ExitCode.OK
    request = asked[0]
    assert (request.target, request.limit, request.vault_ids) == ("rack-12", "r12-n01", ("lab@pw",))
    options = request.options
    assert options.ansible_args == ("-e", "x=1", "-e", "@f", "--skip-tags", "slow")
    assert (options.diff, options.verbosity, options.forks, options.force) == (True, 2, 7, True)
    assert (options.roles, options.partners, options.reboot) == (("kernel", "nccl"), ("a", "b"), True)


def test_every_ansible_of_the_run_gets_the_vault_passwords(asked: list[ProvisionRequest], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANSIBLE_VAULT_IDENTITY_LIST", "")
    monkeypatch.setenv("ANSIBLE_VAULT_PASSWORD_FILE", "")
    main.call(["provision", "x", "-y", "--vault-id", "a@1", "--vault-id", "b@2", "--vault-password-file", "pw"])
    assert os.environ["ANSIBLE_VAULT_IDENTITY_LIST"] == "a@1,b@2"
    assert os.environ["ANSIBLE_VAULT_PASSWORD_FILE"] == "pw"


@pytest.mark.parametrize(
    "words",
    [
        "provision rack-12 rack-13 -y",
        "provision -y",
        "provision rack-12 -y --level huge",
        "provision x -y -f 0",
        "provision x -y --plan p.json --all-roles",
        "provision -y --plan p.json --resume last",
    ],
)
def test_nonsense_is_refused(asked: list[ProvisionRequest], words: str) -> None:
    assert main.call(words.split()) == ExitCode.USAGE
    assert asked == []


def test_resuming_needs_no_target(asked: list[ProvisionRequest]) -> None:
    assert main.call(["provision", "--resume", "last", "-y"]) == ExitCode.OK
    assert (asked[0].target, asked[0].resume) == ("", "last")


def test_a_plan_brings_its_target(asked: list[ProvisionRequest], tmp_path: Path) -> None:
    plan = tmp_path / "p.json"
    plan.write_text('{"schema_version": 1, "kind": "plan", "target": "rack-12", "nodes": []}')
    assert main.call(["provision", "--plan", str(plan), "-y"]) == ExitCode.OK
    assert asked[0].target == "rack-12"
    assert asked[0].saved_plan


def test_a_plan_that_is_not_there_touches_nothing(asked: list[ProvisionRequest]) -> None:
    assert main.call(["provision", "rack-12", "--plan", "/nonexistent/p.json", "-y"]) == ExitCode.CONFIG
    assert asked == []


@pytest.mark.parametrize(("target", "code"), [("calm", ExitCode.OK), ("rack-12", ExitCode.CHANGES_PENDING)])
def test_check_shows_the_plan_and_says_by_its_code(
    asked: list[ProvisionRequest], target: str, code: ExitCode, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main.call(["provision", target, "--check"]) == code
    assert "Plan:" in capsys.readouterr().out


@pytest.mark.parametrize(("answer", "code"), [("y", ExitCode.OK), ("n", ExitCode.CHANGES_PENDING)])
def test_the_operator_is_asked(
    asked: list[ProvisionRequest], answer: str, code: ExitCode, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("click.termui.visible_prompt_func", lambda _prompt="": answer)
    assert main.call(["provision", "rack-12"]) == code
    captured = capsys.readouterr()
    assert "~ r12-n01 (registered): kernel [2 failing checks]" in captured.err
    assert "Plan:" not in captured.out
