"""Whether a machine has credentials for Kubernetes; nothing is asked for a token."""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import yaml

from clusterctl.adapters.pools.kubernetes import KubernetesPool, KubernetesSettings
from clusterctl.adapters.pools.kubernetes_credentials import credentials_check, load_credentials
from clusterctl.adapters.pools.needs import pool_needs
from clusterctl.model.errors import PoolError
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

CASES: dict[str, dict[str, Any]] = load_yaml((ROOT / "tests" / "cases" / "kubeconfigs" / "credentials.yml").read_text())
CONFIG: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Config",
    "current-context": "prod",
    "clusters": [{"name": "c", "cluster": {"server": "https://127.0.0.1:1"}}],
    "contexts": [{"name": "prod", "context": {"cluster": "c", "user": "ada"}}],
    "users": [{"name": "ada", "user": {"token": "t"}}],
}
STARTED = "#!/bin/sh\ntouch FOLDER/started\n"


@pytest.fixture(autouse=True)
def _programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("bin/there", "here/there"):
        (tmp_path / name).parent.mkdir()
        (tmp_path / name).write_text(STARTED.replace("FOLDER", str(tmp_path)))
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}/bin:/usr/bin:/bin")
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("KUBECONFIG", "KUBERNETES_SERVICE_HOST"):
        monkeypatch.delenv(name, raising=False)


def kubeconfig(folder: Path, parts: dict[str, Any], name: str = "kubeconfig") -> Path:
    file = folder / name
    file.write_text(yaml.safe_dump(CONFIG | parts).replace("FOLDER", str(folder)))
    return file


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_what_is_said_of_a_file(tmp_path: Path, case: dict[str, Any]) -> None:
    file = kubeconfig(tmp_path, {k: v for k, v in case.items() if k in CONFIG})
    check = credentials_check(str(file), case.get("context", ""))
    assert check.ok is case["ok"], check
    assert case["found"].replace("FOLDER", str(tmp_path)) in check.found
    assert check.ok or check.hint
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("text", ["", "- a list", "{", "text", "clusters: 3"])
def test_a_file_that_is_no_kubeconfig(tmp_path: Path, text: str) -> None:
    (tmp_path / "kubeconfig").write_text(text)
    check = credentials_check(str(tmp_path / "kubeconfig"), "")
    assert not check.ok
    assert "KUBECONFIG" in check.hint
    with pytest.raises(PoolError, match="no access to Kubernetes"):
        load_credentials(str(tmp_path / "kubeconfig"), "")


def test_what_the_check_accepts_the_client_loads(tmp_path: Path) -> None:
    assert load_credentials(str(kubeconfig(tmp_path, {})), "").api_key["BearerToken"] == "Bearer t"


def test_one_of_several_files_is_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client by itself looks for one file with the name of the list, and takes the account of a pod."""
    monkeypatch.setenv("KUBECONFIG", os.pathsep.join([str(tmp_path / "none"), str(kubeconfig(tmp_path, {}))]))
    assert load_credentials("", "").api_key["BearerToken"] == "Bearer t"
    assert credentials_check("", "").found == "context prod of user ada"


def test_without_a_file_it_is_the_account_of_the_pod_and_stdout_stays_clean(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    check = credentials_check("", "")
    assert (check.ok, check.found) == (False, "no access to Kubernetes: Service host/port is not set.")
    monkeypatch.setattr("kubernetes.config.load_incluster_config", lambda **_: None)
    assert credentials_check("", "").found == "the account of the pod"
    assert capsys.readouterr().out == ""


def test_an_account_without_a_home_is_that_of_a_pod(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(_uid: int) -> NoReturn:
        raise KeyError

    monkeypatch.delenv("HOME")
    monkeypatch.setattr("pwd.getpwuid", unknown)
    assert credentials_check("", "").found == "no access to Kubernetes: Service host/port is not set."


def test_without_the_client_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "clusterctl.adapters.pools.kubernetes_credentials", None)
    (check,) = pool_needs(KubernetesPool, KubernetesSettings())
    assert (check.name, check.ok, check.hint) == ("kubernetes client", False, "pip install 'clusterctl[kubernetes]'")


def test_the_settings_of_the_site_are_those_that_are_checked(tmp_path: Path) -> None:
    file = kubeconfig(tmp_path, {})
    (check,) = pool_needs(KubernetesPool, KubernetesSettings(kubeconfig=str(file), context="nowhere"))
    assert not check.ok
    assert "nowhere" in check.found
