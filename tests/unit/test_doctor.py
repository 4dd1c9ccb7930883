from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import Config, PoolDeclaration
from clusterctl.adapters.node_packages import NodePackages
from clusterctl.main import call
from clusterctl.model.doctor_check import Check
from clusterctl.workflows import doctor
from support.site import Site
from support.stores import fresh

if TYPE_CHECKING:
    from pathlib import Path


def checks(config: Config) -> dict[str, Check]:
    return {c.name: c for c in doctor.examine(config)}


def config(tmp_path: Path) -> Config:
    return Config(root=tmp_path, inventory=tuple(Site(tmp_path).layers), state_dir=tmp_path / "state" / "deep")


def test_installed_parts_are_found(tmp_path: Path) -> None:
    found = checks(config(tmp_path))
    assert found["python"].ok
    assert found["ansible-core"].ok
    assert found["node packages"].ok
    assert "pytest 8." in found["node packages"].found
    assert found["state directory"].ok
    assert found["inventory"].found == "4 nodes in 2 layers"
    assert found["pool"].ok
    assert found["pool"].found.startswith("local ")
    assert not (tmp_path / "state").exists()


def test_a_client_without_sftp_loses_records_after_the_measurement(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    own = tmp_path / "bin"
    own.mkdir()
    (own / "ssh").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", str(own))
    found = checks(config(tmp_path))
    assert found["ssh"].ok
    assert (found["sftp"].ok, found["sftp"].required) == (False, True)
    assert "openssh-client" in found["sftp"].hint


def test_where_roles_run_is_told_with_the_number_of_nodes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    site = replace(config(tmp_path), inventory=(written(tmp_path),))
    found = checks(site)["apply"]
    assert found.ok
    assert found.found == "roles run on 1 node, with Python 3.11 or later; from the controller on 1: it is reached by local"
    assert checks(replace(site, apply="ssh"))["apply"].found == "roles run from the controller: apply: ssh is set"
    monkeypatch.setenv("ANSIBLE_STRATEGY", "free")
    assert checks(site)["apply"].found == "roles run from the controller: ANSIBLE_STRATEGY is set for Ansible on the controller"


def test_a_declared_state_that_is_invalid_is_no_missing_part(tmp_path: Path) -> None:
    found = checks(config(tmp_path))["apply"]
    assert (found.ok, found.required) == (False, False)
    assert found.found == "the declared state is invalid"


def written(folder: Path) -> Path:
    file = folder / "hosts.yml"
    file.write_text("all:\n  vars: {node_roles: [nccl]}\n  hosts:\n    a1: {ansible_connection: local}\n    a2: {ansible_user: root}\n")
    return file


def test_missing_parts_have_a_hint(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(doctor, "version", lambda _: "2.99.0")
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path))
    monkeypatch.setenv("ANSIBLE_HOME", str(tmp_path))
    monkeypatch.setattr(doctor, "node_packages", lambda: NodePackages(tmp_path / "node.txt", tmp_path, "`make setup` downloads them"))
    file = tmp_path / "afile"
    file.write_text("")
    found = checks(Config(root=tmp_path, inventory=(tmp_path / "nosuch",), state_dir=file / "state"))
    for name in ("ansible-core", "node packages", "ssh", "podman", "state directory", "inventory"):
        assert not found[name].ok, name
        assert found[name].hint, name
    assert not found["podman"].required
    assert "nosuch does not exist" in found["inventory"].found


def test_a_pool_that_is_not_installed_is_reported(tmp_path: Path) -> None:
    site = config(tmp_path)
    found = checks(replace(site, pool=PoolDeclaration("pbs")))["pool"]
    assert not found.ok
    assert found.required
    assert found.found == "no pool backend is called 'pbs'"
    assert "install the package that offers 'pbs'" in found.hint
    assert "pool.partition: unknown key" in checks(replace(site, pool=PoolDeclaration("local", {"partition": "x"})))["pool"].found


def test_the_exit_code_is_3_if_something_required_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert call(["doctor", "-o", "json"]) == 3
    document = json.loads(capsys.readouterr().out)
    inventory = next(c for c in document["checks"] if c["name"] == "inventory")
    assert (document["kind"], inventory["ok"]) == ("doctor", False)
    assert "clusterctl init" in inventory["hint"]


@pytest.mark.parametrize(("found", "ok"), [("2.18.9", False), ("2.19.14", True), ("2.20.1", True), ("2.21.5", True), ("2.22.0", False)])
def test_supported_versions_of_ansible(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, found: str, ok: bool) -> None:
    monkeypatch.setattr(doctor, "version", lambda _: found)
    check = checks(config(tmp_path))["ansible-core"]
    assert check.ok is ok
    assert check.hint == "pip install 'ansible-core>=2.19,<2.22'"
    assert ("nodes: Python 3." in check.found) is ok


def _spoil(file: Path, how: str) -> None:
    if how == "no database":
        file.write_text("garbage, but more than the header of a database has\n" * 9)
    elif how == "emptied":
        (file.parent / "runs" / "run-1").mkdir(parents=True)
        file.write_bytes(b"")
    elif how == "damaged":
        content = bytearray(file.read_bytes())
        content[100:4096] = b"\xff" * 3996
        file.write_bytes(content)
    else:
        with closing(sqlite3.connect(file)) as database:
            database.execute("UPDATE alembic_version SET version_num = '9999'")
            database.commit()


@pytest.mark.parametrize(
    ("how", "said"),
    [
        ("no database", "file is not a database"),
        ("emptied", "the database is empty"),
        ("damaged", "malformed"),
        ("newer", "its schema version is 9999"),
    ],
)
def test_a_record_that_no_command_can_use_is_found(tmp_path: Path, how: str, said: str) -> None:
    """`doctor` said ok while every other verb ended with an error."""
    site = config(tmp_path)
    fresh(site.state_dir).close()
    file = site.state_dir / "clusterctl.db"
    assert checks(site)["record"] == Check("record", ok=True, found=f"sqlite:///{file}")
    _spoil(file, how)
    before = file.read_bytes()
    found = checks(site)["record"]
    assert (found.ok, found.required) == (False, True)
    assert said in found.found
    assert found.hint
    assert file.read_bytes() == before
