from __future__ import annotations

import json
import re
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from clusterctl.adapters import config
from clusterctl.adapters.ansible.content import content_dir
from clusterctl.adapters.config_keys import BY_NAME, KEYS, Key
from clusterctl.adapters.pools.kubernetes import KubernetesSettings
from clusterctl.adapters.pools.slurm import SlurmSettings
from clusterctl.core.breaker import Breaker
from clusterctl.model.errors import ConfigError
from support.plain_yaml import load_yaml
from support.roles import ROOT

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.dates(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)


@pytest.fixture(autouse=True)
def _no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("CONFIG", "STATE_DIR", "DATABASE_URL", "OPERATOR"):
        monkeypatch.delenv(f"CLUSTERCTL_{name}", raising=False)


def write(folder: Path, text: str) -> Path:
    (folder / "clusterctl.yml").write_text(text)
    return folder


def test_layers_are_relative_to_the_file_or_packaged(tmp_path: Path) -> None:
    write(tmp_path, "inventory: ['@common', '@lab', inventory/site]\n")
    below = tmp_path / "a" / "b"
    below.mkdir(parents=True)
    found = config.read_config(start=below)
    assert found.inventory == (content_dir() / "inventory" / "common", content_dir() / "inventory" / "lab", tmp_path / "inventory" / "site")
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
        ("a: [\n", r"clusterctl\.yml:2: "),
        ("inventory:\n\t- x\n", r"clusterctl\.yml:2: .*character '\\t' that cannot start"),
        ("breaker_percent: 10\npool: local\nbreaker_percent: 100\n", r"clusterctl\.yml:3: 'breaker_percent' stands in line 1 already"),
        ("pool:\n  kind: slurm\n  kind: local\n", r"clusterctl\.yml:3: 'kind' stands in line 2 already"),
        ("a: 1\n---\nb: 1\n", r"clusterctl\.yml:2: expected a single document"),
        ("5: x\n", "5: unknown key"),
        ("inventory: ['']\n", "inventory: is not a list of paths"),
        ("inventory:\n", "inventory: is not a list of paths"),
        ("inventory: []\nstate_dir:\n", r"clusterctl\.yml:2: state_dir: is empty"),
        ("state_dir: ''\n", "state_dir: is empty"),
        ("state_dir: [a, b]\n", "state_dir: .* is not text"),
        ("database_url: 5\n", "database_url: 5 is not text"),
        ("database_url: foo\n", "database_url: is not the URL of a database"),
        ("inventory: [x]\ndatabase_url: sqlite:foo.db\n", r"clusterctl\.yml:2: database_url: is not the URL of a database"),
        ("database_url: mysql://u:secret@h/db\n", "database_url: 'mysql' is neither sqlite nor postgresql"),
        ("database_url: postgres://u@h/db\n", "database_url: 'postgres' is neither sqlite nor postgresql"),
        ("operator: '  '\n", "operator: is empty"),
        ('operator: "a\\nb"\n', "operator: .* has a control character"),
        ("state_dir: ' '\n", "state_dir: is empty"),
        ("operator: [x]\n", "operator: .* is not text"),
        ("operator: 2026-01-01\n", "operator: .* is not text"),
        ("signing_key: true\n", "signing_key: True is not text"),
        ("allowed_signers: {}\n", "allowed_signers: .* is not text"),
        ("drift_policy: criticl=drain\n", "drift_policy: 'criticl=drain' is not SEVERITY=ACTION"),
        ("drift_policy: 1\n", "drift_policy: 1 is not text"),
        ("breaker_percent: .nan\n", "breaker_percent: nan is not a number"),
        ("breaker_minutes: .inf\n", "breaker_minutes: inf is not a number"),
        (f"auto_partners: 1{'0' * 5000}\n", "clusterctl.yml"),
        ("cpu_quota_percent: 1.5\n", "cpu_quota_percent: 1.5 is not a whole number"),
    ],
)
def test_invalid_files_are_errors(text: str, says: str, tmp_path: Path) -> None:
    write(tmp_path, text)
    with pytest.raises(ConfigError, match=says) as caught:
        config.read_config(start=tmp_path)
    assert caught.value.hint
    assert "secret" not in str(caught.value)


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


@pytest.mark.parametrize("key", [key for key in KEYS if key.environment], ids=lambda key: key.name)
def test_an_option_wins_over_the_environment_and_that_over_the_file(key: Key, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def found(**options: str) -> str:
        value = str(getattr(config.read_config(start=tmp_path, **options), key.name))  # type: ignore[arg-type]
        return value.removeprefix(f"{tmp_path}/").removeprefix(scheme)

    scheme = "sqlite:///" if key.name == "database_url" else ""
    default = found()
    write(tmp_path, f"{key.name}: {scheme}of_file\n")
    assert found() == "of_file" != default
    monkeypatch.setenv(key.environment, f"{scheme}of_environment")
    assert found() == "of_environment"
    if key.name == "state_dir":
        assert found(state_dir=str(tmp_path / "of_option")) == "of_option"
    monkeypatch.setenv(key.environment, "")
    assert found() == "of_file"


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("CLUSTERCTL_OPERATOR", "  ", "CLUSTERCTL_OPERATOR: is empty"),
        ("CLUSTERCTL_OPERATOR", "a\x1b[2Jb", "CLUSTERCTL_OPERATOR: .* has a control character"),
        ("CLUSTERCTL_STATE_DIR", " ", "CLUSTERCTL_STATE_DIR: is empty"),
        ("CLUSTERCTL_DATABASE_URL", "foo", "CLUSTERCTL_DATABASE_URL: is not the URL of a database"),
    ],
)
def test_a_variable_is_checked_as_the_file_is(name: str, value: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match=says) as caught:
        config.read_config(start=tmp_path)
    assert "unset it" in caught.value.hint


def test_a_file_in_another_encoding_is_an_error_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "clusterctl.yml").write_bytes("pool: local\noperator: M\u00fcller\n".encode("latin-1"))
    with pytest.raises(ConfigError, match=r"clusterctl\.yml:2: byte 0xfc is not UTF-8") as caught:
        config.read_config(start=tmp_path)
    assert "UTF-8" in caught.value.hint


@given(name=st.sampled_from([key.name for key in KEYS]), value=VALUES)
def test_whatever_stands_behind_a_key_is_read_or_refused_with_its_line(name: str, value: object) -> None:
    with TemporaryDirectory() as folder:
        write(Path(folder), f"# a comment\n{yaml.safe_dump({name: value})}")
        refused = ""
        try:
            config.read_config(start=Path(folder))
        except ConfigError as e:
            refused = str(e)
    of_parts = name in {"pool", "maintenance_windows"}  # their parts have errors of their own
    assert f"clusterctl.yml:2: {name}" in refused or of_parts or (not refused and is_valid({name: value}))


def is_valid(document: object) -> bool:
    schema = json.loads((ROOT / "docs" / "reference" / "schemas" / "clusterctl.schema.json").read_text())
    return bool(Draft202012Validator(schema).is_valid(document))


def test_the_schema_takes_the_defaults_and_this_checkouts_file() -> None:
    assert is_valid(load_yaml((ROOT / "clusterctl.yml").read_text()))
    for key in KEYS:
        if key.default not in {"", ()}:
            assert is_valid({key.name: key.default})
    assert not is_valid({"inventroy": []})


@pytest.mark.parametrize("open_to_all", ["folder", "file"])
def test_a_file_that_every_user_can_write_is_refused_unless_it_is_named(
    open_to_all: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As Ansible with ansible.cfg: it names modules that are imported, and the roles of the site are beside it."""
    file, below = tmp_path / "clusterctl.yml", tmp_path / "mine"
    file.write_text("operator: mallory\n")
    below.mkdir()
    (tmp_path if open_to_all == "folder" else file).chmod(0o1777)
    with pytest.raises(ConfigError, match="every user of this machine can write it") as caught:
        config.read_config(start=below)
    assert "chmod o-w" in caught.value.hint
    monkeypatch.setenv("CLUSTERCTL_CONFIG", str(file))
    assert config.read_config(start=below).operator == "mallory"
