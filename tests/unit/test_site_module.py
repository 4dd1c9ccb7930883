"""Modules of a site: found in its directory, never instead of an installed module."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.site_module import import_site_module
from clusterctl.model.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, text in {
        "site_one": "import site_two\nVALUE = site_two.VALUE\n",
        "site_two": "VALUE = 2\n",
        "site_needs": "import nowhere_installed\n",
        "site_broken": "def\n",
        "site_wrong": "from site_two import NOTHING\n",
        "colorsys": "VALUE = 'of the site'\n",
    }.items():
        (tmp_path / f"{name}.py").write_text(text)
    return tmp_path


def test_modules_of_the_directory_can_import_each_other(folder: Path) -> None:
    assert import_site_module("site_one", folder).VALUE == 2


def test_an_installed_module_needs_no_directory(tmp_path: Path) -> None:
    assert import_site_module("json", tmp_path / "absent").__name__ == "json"
    assert import_site_module("json", None).__name__ == "json"


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("site_absent", "no module 'site_absent' is in "),
        ("site_needs", "module 'site_needs' needs 'nowhere_installed'"),
        ("site_broken", "module 'site_broken' cannot be imported: "),
        ("site_wrong", "module 'site_wrong' cannot be imported: cannot import name 'NOTHING'"),
        ("colorsys", "is imported instead"),
    ],
)
def test_an_unusable_module_is_an_error(name: str, says: str, folder: Path) -> None:
    with pytest.raises(ConfigError) as caught:
        import_site_module(name, folder)
    assert says in str(caught.value)
    assert caught.value.hint
