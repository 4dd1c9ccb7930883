"""What verbs print with `-o json` on real input follows the published schemas; an error prints no document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from jsonschema import Draft202012Validator, ValidationError

from clusterctl import main
from clusterctl.model.exit_codes import ExitCode
from support.rack_after_run import provisioned_rack
from support.roles import ROOT
from support.schemas import checked_document, schema

if TYPE_CHECKING:
    from pathlib import Path

EXAMPLE = ("-i", str(ROOT / "inventory" / "common"), "-i", str(ROOT / "inventory" / "example"))


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        (("profile", "list"), "profiles"),
        (("profile", "show", "r13-n07"), "profile"),
        (("profile", "show", "r13-n07", "--role", "kernel"), "profile"),
        (("profile", "check", "r13-n07"), "profile_check"),
        (("baseline", "show", "r13-n07"), "baselines"),
        (("baseline", "diff", "r13-n07"), "baselines_measured"),
        (("inventory", "r13-n07"), "inventory"),
    ],
)
def test_of_an_inventory(words: tuple[str, ...], kind: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["--state-dir", str(tmp_path), *words, *EXAMPLE, "-o", "json"]) == ExitCode.OK
    assert checked_document(capsys.readouterr().out)["kind"] == kind


def test_of_an_inventory_with_a_problem(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    words = ["profile", "check", "r13-n07", *EXAMPLE, "-e", '{"kernel_release": [1]}', "-o", "json"]
    assert main.call(["--state-dir", str(tmp_path), *words]) == ExitCode.CONFIG
    document = checked_document(capsys.readouterr().out)
    assert (document["kind"], document["nodes"]) == ("profile_check", None)
    assert document["problems"]


def test_of_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    main.call(["doctor", *EXAMPLE, "-o", "json"])
    assert checked_document(capsys.readouterr().out)["kind"] == "doctor"


def test_of_the_verbs_that_change_states(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    provisioned_rack(tmp_path)[0].close()

    def printed(code: ExitCode, *words: str) -> dict[str, Any]:
        assert main.call(["--state-dir", str(tmp_path), *words, "-o", "json"]) == code
        return checked_document(capsys.readouterr().out)

    refused = printed(ExitCode.USAGE, "drain", "r12-n01,r12-n04", "--to", "rma", "--reason", "fan")
    assert [n["outcome"] for n in refused["nodes"]] == ["refused", "moved"]
    released = printed(ExitCode.OK, "release", "r12-n04")
    assert [(n["from"], n["state"], "running" in n) for n in released["nodes"]] == [("rma", "registered", False)]
    assert [n["state"] for n in printed(ExitCode.OK, "forget", "r12-n04", "--yes")["nodes"]] == ["registered"]
    assert printed(ExitCode.VALIDATOR_FAILED, "admit", "r12-n02", "--verify")["kind"] == "admit_verify"
    assert printed(ExitCode.OK, "parse", "--list")["kind"] == "tools"


def test_an_error_prints_no_document(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main.call(["--state-dir", str(tmp_path), "release", "r12-n04", "-o", "json"]) == ExitCode.CONFIG
    assert capsys.readouterr().out == ""


def test_a_document_without_one_of_its_fields_does_not_follow_its_schema(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    provisioned_rack(tmp_path)[0].close()
    assert main.call(["--state-dir", str(tmp_path), "drain", "r12-n01", "--reason", "fan", "-o", "json"]) == ExitCode.OK
    document = checked_document(capsys.readouterr().out)
    del document["nodes"][0]["running"]
    with pytest.raises(ValidationError):
        Draft202012Validator(schema("drain")).validate(document)
