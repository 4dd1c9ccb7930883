"""Wrong inventories: each case in tests/cases/spec/errors says what must be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.inventory.invalid import problems_of
from clusterctl.model.errors import ClusterctlError, SpecInvalidError
from clusterctl.model.exit_codes import ExitCode
from support.plain_yaml import load_yaml
from support.site import CASES, Site

if TYPE_CHECKING:
    from pathlib import Path

FILES = sorted((CASES / "errors").glob("*.yml"))


@pytest.mark.parametrize("file", FILES, ids=lambda f: f.stem)
def test_error(file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = load_yaml(file.read_text())
    site = Site(tmp_path, case.get("files"), case.get("layers", ("common", "site")))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ANSIBLE_VAULT_PASSWORD_FILE", raising=False)
    with pytest.raises(ClusterctlError) as caught:
        site.nodes(case["target"], limit=case.get("limit"), extra_vars=case.get("extra_vars", ()), vault_ids=case.get("vault_ids", ()))
    error = caught.value
    assert type(error).__name__ == case["error"], str(error)
    assert error.exit_code is (ExitCode.USAGE if case["error"] == "UsageProblemError" else ExitCode.CONFIG)
    assert error.hint
    if "lines" in case:
        assert isinstance(error, SpecInvalidError)
        assert [p.text() for p in problems_of(error)] == case["lines"]
    for text in case.get("says", ()):
        assert text in str(error)
    for text in case.get("hints", ()):
        assert text in error.hint
    assert "Traceback" not in str(error)
