"""Roles and validators of a site or a package: found, resolved, packed, and refused if they conflict."""

from __future__ import annotations

import zipfile
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters import site_content
from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.ansible.environment import minimal_environment
from clusterctl.adapters.config import read_config
from clusterctl.adapters.inventory.load import load_nodes
from clusterctl.adapters.validators.bundle import build_bundle
from clusterctl.model.errors import ConfigError, SpecInvalidError
from clusterctl.workflows.doctor import examine
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SPECS = "argument_specs:\n  main:\n    short_description: A banner.\n    options:\n      banner_text: {type: str, default: hello, description: Text.}\n"
HOSTS = "rack_1:\n  vars: {rack: rack-1, node_roles: [banner]}\n  hosts: {n1: {}}\n"


def write(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def role(name: str = "banner") -> dict[str, str]:
    return {
        f"roles/{name}/meta/argument_specs.yml": SPECS.replace("banner", name),
        f"roles/{name}/defaults/main.yml": f"{name}_text: hello\n",
        f"roles/{name}/tasks/main.yml": "[]\n",
        f"validators/test_{name}.py": f"ROLE = '{name}'\n",
    }


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name in ("CLUSTERCTL_CONFIG", "ANSIBLE_ROLES_PATH"):
        monkeypatch.delenv(name, raising=False)
    return write(tmp_path, {"clusterctl.yml": "inventory: [hosts.yml]\nstate_dir: state\n", "hosts.yml": HOSTS, **role()})


def test_a_role_of_the_site_is_resolved_and_found_by_ansible(site: Path) -> None:
    (node,) = load_nodes(read_config().inventory, "n1")
    assert node.spec.roles == {"banner": {"banner_text": "hello"}}
    assert minimal_environment({}, content_dir())["ANSIBLE_ROLES_PATH"] == f"{site}/roles:{content_dir()}/roles"


def test_a_profile_takes_a_role_of_the_site_beside_its_own(site: Path) -> None:
    hosts = "profile_hgx_h100_ib:\n  children: {rack_1: {}}\nrack_1:\n  hosts: {n1: {}}\n"
    write(site, {"hosts.yml": hosts, "group_vars/rack_1.yml": "node_roles_site: [banner]\n"})
    (node,) = load_nodes([content_dir() / "inventory" / "common", site / "hosts.yml"], "n1")
    assert list(node.spec.roles)[-2:] == ["monitoring", "banner"]


def test_a_validator_of_the_site_is_in_the_bundle_and_its_digest(site: Path) -> None:
    before = build_bundle(site / "state")
    bundle = build_bundle(site / "state", site_content.checked_validator_dirs(site_content.site_content()))
    assert "clusterctl_validators/test_banner.py" in zipfile.ZipFile(bundle.path).namelist()
    assert bundle.sha256 != before.sha256


def test_a_checkout_has_no_site_content(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("CLUSTERCTL_CONFIG", raising=False)
    assert site_content.site_content().folders == ()
    assert site_content.role_dirs() == (content_dir() / "roles",)


def test_an_installed_package_can_provide_the_same(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry_point = site / "lib" / "acme_content-1.0.dist-info" / "entry_points.txt"
    metadata = {"METADATA": "Metadata-Version: 2.1\nName: acme-content\nVersion: 1.0\n"}
    write(entry_point.parent, {**metadata, entry_point.name: f"[{site_content.GROUP}]\nacme = acme_content\n"})
    write(site / "lib" / "acme_content", {"__init__.py": "", **role("cooling")})
    monkeypatch.syspath_prepend(str(site / "lib"))
    found = site_content.site_content()
    assert found.folders == (site, site / "lib" / "acme_content")
    assert list(found.roles) == ["cooling", "banner"]
    (node,) = load_nodes(read_config().inventory, "n1", extra_vars=['{"node_roles": ["banner", "cooling"]}'])
    assert node.spec.roles["cooling"] == {"cooling_text": "hello"}
    assert found.validator_of("cooling") == site / "lib" / "acme_content" / "validators" / "test_cooling.py"
    entry_point.write_text(f"[{site_content.GROUP}]\nacme = acme_contents\n")
    with pytest.raises(ConfigError, match="no package 'acme_contents' is installed"):
        site_content.site_content()


def test_two_roles_with_the_same_name_are_refused(site: Path) -> None:
    write(site, role("hugepages"))
    with pytest.raises(ConfigError, match=r"two roles are called 'hugepages': roles/hugepages and "):
        load_nodes(read_config().inventory, "n1")


def test_a_role_without_schema_is_reported(site: Path) -> None:
    (site / "roles" / "banner" / "meta" / "argument_specs.yml").unlink()
    with pytest.raises(SpecInvalidError) as caught:
        load_nodes(read_config().inventory, "n1")
    assert "node_roles[0]: role 'banner' (roles/banner) has no meta/argument_specs.yml" in str(caught.value)


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("test_kernel.py", "ROLE = 'kernel'\n", "has the same name"),
        ("probe.py", "", "has the same name"),
        ("test_banner.py", "def f(:\n", r"test_banner\.py:1: "),
        ("test_banner.py", "x\0", r"test_banner\.py:1: "),
    ],
)
def test_an_invalid_validator_is_an_error(name: str, text: str, says: str, site: Path) -> None:
    (site / "validators" / name).write_text(text)
    with pytest.raises(ConfigError, match=says) as caught:
        site_content.checked_validator_dirs(site_content.site_content())
    assert caught.value.hint


def test_doctor_reports_incomplete_site_roles(site: Path) -> None:
    write(site, {"roles/other/tasks/main.yml": "[]\n"})
    found = {c.name: c for c in examine(read_config())}
    assert found["role banner"].ok
    assert found["role other"].found == f"{site}/roles/other: no meta/argument_specs.yml, no validators/test_other.py"
    assert not found["role other"].required
    (site / "validators" / "test_banner.py").write_text("def f(:\n")
    (site / "clusterctl.yml").write_text("inventory: [hosts.yml]\ngates: [gates_of_nobody]\n")
    found = {c.name: c for c in examine(read_config())}
    assert "test_banner.py:1: " in found["site roles"].found
    assert "no module 'gates_of_nobody'" in found["gates"].found
