from __future__ import annotations

import re
from pathlib import Path

import pytest

from clusterctl.adapters import config
from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.config_keys import BY_NAME
from clusterctl.adapters.pools.kubernetes import KubernetesSettings
from clusterctl.adapters.pools.slurm import SlurmSettings
from clusterctl.core.breaker import Breaker
from clusterctl.model.errors import ConfigError
from support.roles import ROOT


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "STATE_DIR", "DATABASE_URL", "OPERATOR"):
        monkeypatch.delenv(f"CLUSTERCTL_{name}", raising=False)


def write(folder: Path, text: str) -> Path:
    (folder / "clusterctl.yml").write_text(text)
    return folder


def test_layers_are_relative_to_the_file_and_common_is_the_packaged_layer(tmp_path: Path) -> None:
    write(tmp_path, "inventory: ['@common', inventory/site]\n")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    found = config.read_config(start=below)
    assert found.inventory == (content_dir() / "inventory" / "common", tmp_path / "inventory" / "site")
    assert found.state_dir == tmp_path / ".clusterctl"


def test_options_take_precedence_and_are_relative_to_the_working_directory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, "inventory: [x]\nstate_dir: s\n")
    monkeypatch.setenv("CLUSTERCTL_STATE_DIR", str(tmp_path / "env"))
    found = config.read_config(inventory=("@common", "y", "r1-n01,"), start=tmp_path)
    assert found.inventory == (content_dir() / "inventory" / "common", tmp_path / "y", Path("r1-n01,"))
    assert found.state_dir == tmp_path / "env"
    assert config.read_config(state_dir=str(tmp_path / "option"), start=tmp_path).state_dir == tmp_path / "option"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("inventory: x\n", "inventory: is not a list of paths"),
        ("inventory: [1]\n", "inventory: is not a list of paths"),
        ("inventory: [x]\n\ninventroy: [x]\n", r"clusterctl\.yml:3: inventroy: unknown key; did you mean 'inventory'\?"),
        ("gates: mine\n", "gates: is not a list of modules"),
        ("pool: {}\n", r"clusterctl\.yml:1: pool\.kind: is missing"),
        ("- a\n", "is not a mapping"),
        ("reboot_budget: 0\n", "reboot_budget: "),
        ("reboot_budget: 0%\n", "reboot_budget: "),
        ("reboot_budget: 101%\n", "reboot_budget: "),
        ("reboot_budget: true\n", "reboot_budget: "),
        ("reboot_budget: many\n", "reboot_budget: "),
        ("reboot_budget: [1]\n", "reboot_budget: "),
        ("reboot_budget: -1\n", "reboot_budget: "),
        ("reboot_budget: 1.5\n", "reboot_budget: "),
        ("breaker_percent: 0\n", "breaker_percent: "),
        ("breaker_percent: 101\n", "breaker_percent: "),
        ("breaker_percent: half\n", "breaker_percent: "),
        ("breaker_minutes: true\n", "breaker_minutes: "),
        ("auto_partners: -1\n", "auto_partners: "),
        ("cpu_quota_percent: -1\n", "cpu_quota_percent: "),
        ("cpu_quota_percent: half\n", "cpu_quota_percent: "),
        ("cpu_quota_percent: true\n", "cpu_quota_percent: "),
        ("a: [\n", "clusterctl.yml"),
    ],
)
def test_invalid_files_are_errors(text: str, says: str, tmp_path: Path) -> None:
    write(tmp_path, text)
    with pytest.raises(ConfigError, match=says) as caught:
        config.read_config(start=tmp_path)
    assert caught.value.hint


def test_modules_of_the_site_are_in_its_plugins_directory(tmp_path: Path) -> None:
    found = config.read_config(start=write(tmp_path, "gates: [my_gates]\npool: {kind: 'my_pools:Batch', partition: gpu}\n"))
    assert (found.gates, found.plugins) == (("my_gates",), tmp_path / "plugins")
    assert found.pool == config.PoolDeclaration("my_pools:Batch", {"partition": "gpu"}, tmp_path / "plugins", tmp_path / "clusterctl.yml")


@pytest.mark.parametrize(("text", "percent"), [("", 50), ("cpu_quota_percent: 0\n", 0), ("cpu_quota_percent: 200\n", 200)])
def test_the_cpu_quota_of_checks_is_read(text: str, percent: int, tmp_path: Path) -> None:
    assert config.read_config(start=write(tmp_path, text)).cpu_quota_percent == percent


@pytest.mark.parametrize(("text", "budget"), [("", "50%"), ("reboot_budget: 4\n", "4"), ("reboot_budget: 25%\n", "25%")])
def test_the_reboot_budget_is_read(text: str, budget: str, tmp_path: Path) -> None:
    assert config.read_config(start=write(tmp_path, text)).reboot_budget == budget


def test_a_named_file_that_does_not_exist_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CLUSTERCTL_CONFIG", str(tmp_path / "nosuch.yml"))
    with pytest.raises(ConfigError, match="No such file"):
        config.read_config(start=tmp_path)


def listed(text: str) -> list[str]:
    """The names in the first column of the tables of a page."""
    return [name for row in re.findall(r"^\| (`\w+`(?:, `\w+`)*) \|", text, re.MULTILINE) for name in re.findall(r"\w+", row)]


def test_the_reference_lists_every_key() -> None:
    page = (ROOT / "docs" / "reference" / "configuration.md").read_text()
    keys, pools = page.split("\n## ")[:2]
    assert set(listed(keys)) == set(BY_NAME)
    settings = [*SlurmSettings.model_fields, *KubernetesSettings.model_fields]
    assert sorted(listed(pools)) == sorted(settings)


def test_an_empty_file_is_valid(tmp_path: Path) -> None:
    assert config.read_config(start=write(tmp_path, "")).inventory == ()


@pytest.mark.parametrize(
    ("text", "breaker"),
    [
        ("inventory: []\n", Breaker(50, 300)),
        ("breaker_percent: 10\nbreaker_minutes: 60\n", Breaker(10, 3600)),
        ("breaker_percent: 100\n", Breaker(100, 300)),
    ],
)
def test_the_site_sets_the_breaker(tmp_path: Path, text: str, breaker: Breaker) -> None:
    assert config.read_config(start=write(tmp_path, text)).limits.breaker == breaker
