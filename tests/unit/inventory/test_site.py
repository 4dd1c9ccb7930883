from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import read_config
from clusterctl.adapters.inventory.load import list_hosts
from clusterctl.adapters.inventory.site import write_site
from clusterctl.model.errors import ConfigError, PathError, SpecInvalidError, UsageProblemError
from clusterctl.workflows.check_declared_state import check_declared_state
from clusterctl_lab.layout import LabPaths
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path


def test_a_site_has_configuration_and_inventory(tmp_path: Path) -> None:
    files = {p.relative_to(tmp_path).as_posix() for p in write_site(tmp_path / "my site")}
    assert files == {
        "my site/.gitignore",
        "my site/clusterctl.yml",
        "my site/inventory/my_site/hosts.yml",
        "my site/inventory/my_site/group_vars/all.yml",
    }
    assert "- inventory/my_site " in (tmp_path / "my site" / "clusterctl.yml").read_text()


def test_the_site_of_a_lab_takes_its_nodes_from_the_lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = {p.relative_to(tmp_path).as_posix() for p in write_site(tmp_path / "lab", lab=True)}
    assert files == {"lab/.gitignore", "lab/clusterctl.yml"}
    monkeypatch.chdir(tmp_path / "lab")
    config = read_config()
    assert config.inventory[-1] == LabPaths(config.state_dir / "lab").hosts_dir
    with pytest.raises(ConfigError, match="the lab is not up"):
        list_hosts(config.inventory, "rack-12")


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.yml").write_text("mine")
    with pytest.raises(UsageProblemError, match=r"clusterctl\.yml is there already"):
        write_site(tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["clusterctl.yml"]


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PathError, match="file"):
        write_site(tmp_path / "file" / "site")


def test_a_new_site_has_the_rack_of_the_readme_and_is_sound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_site(tmp_path / "mysite")
    monkeypatch.chdir(tmp_path / "mysite")
    config = read_config()
    checked = check_declared_state(config)
    assert (checked.nodes, checked.specs) == (2, 1)
    readme = (ROOT / "README.md").read_text()
    target = readme.partition("clusterctl init mysite")[2].partition("clusterctl plan ")[2].split()[0]
    assert [h.name for h in list_hosts(config.inventory, target).hosts] == ["r12-n01", "r12-n02"]


def test_a_role_of_the_site_that_nothing_verifies_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = tmp_path / "mysite"
    write_site(site)
    (site / "roles" / "acme_motd" / "tasks").mkdir(parents=True)
    (site / "roles" / "acme_motd" / "meta").mkdir()
    (site / "roles" / "acme_motd" / "tasks" / "main.yml").write_text("---\n")
    (site / "roles" / "acme_motd" / "meta" / "argument_specs.yml").write_text(
        "argument_specs: {main: {short_description: A message, options: {}}}\n"
    )
    monkeypatch.chdir(site)
    assert check_declared_state(read_config(), "all").nodes == 2
    (site / "inventory" / "mysite" / "group_vars" / "rack_12.yml").write_text("node_roles: [hardware, acme_motd]\n")
    with pytest.raises(
        SpecInvalidError,
        match=r"roles/acme_motd: nothing verifies what role acme_motd sets: validators/test_acme_motd\.py is missing",
    ):
        check_declared_state(read_config(), "all")
    (site / "validators").mkdir()
    (site / "validators" / "test_acme_motd.py").write_text(
        "def test_nothing(record):\n    record.not_applicable('acme_motd.text', 'none')\n"
    )
    assert check_declared_state(read_config(), "all").nodes == 2


@pytest.mark.parametrize(
    ("options", "why"),
    [
        ("{a: {type: int}, a: {type: str}}", r"roles/acme_motd/meta/argument_specs\.yml.*(duplicate|more than once)"),
        ("{a: [}", r"roles/acme_motd/meta/argument_specs\.yml"),
    ],
    ids=["a key twice", "no YAML"],
)
def test_a_broken_spec_of_a_role_of_the_site_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: str, why: str) -> None:
    site = tmp_path / "mysite"
    write_site(site)
    (site / "roles" / "acme_motd" / "meta").mkdir(parents=True)
    (site / "roles" / "acme_motd" / "meta" / "argument_specs.yml").write_text(f"argument_specs:\n  main:\n    options: {options}\n")
    monkeypatch.chdir(site)
    with pytest.raises(ConfigError) as refused:
        check_declared_state(read_config(), "all")
    assert re.search(why, str(refused.value), re.IGNORECASE | re.DOTALL), str(refused.value)
