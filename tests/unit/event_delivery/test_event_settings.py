"""`events` of clusterctl.yml: what is wrong is named with file and line, and no secret is shown."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from jsonschema import Draft202012Validator

from clusterctl.adapters.config import read_config
from clusterctl.model.errors import ConfigError
from clusterctl.model.event_settings import EventReceiver
from support.plain_yaml import load_yaml
from support.roles import ROOT

if TYPE_CHECKING:
    from pathlib import Path

SCHEMA = Draft202012Validator(json.loads((ROOT / "docs" / "reference" / "schemas" / "clusterctl.schema.json").read_text()))
GOOD = (
    "{receivers: []}",
    "{source: 'https://clusterctl.example.org/a', receivers: [{name: a, webhook: 'https://x.example.org/h', types: ['clusterctl.node.*'], timeout_s: 2.5, attempts: 3}]}",
    "{receivers: [{name: a, webhook_env: URL, token_env: KEY}, {name: b, command: [logger, -t, clusterctl]}]}",
)
BAD = (
    ("[]", "is not a mapping"),
    ("{source: x}", "is not a mapping of receivers"),
    ("{receivers: [], retries: 3}", "is not a mapping of receivers"),
    ("{receivers: [pager]}", "receiver 1: is not a mapping"),
    ("{receivers: [{name: a}]}", "needs one of webhook, webhook_env and command"),
    ("{receivers: [{name: a, webhook: 'http://x', command: [y]}]}", "needs one of"),
    ("{receivers: [{name: a, webhook: 'http://x', url: 'http://x'}]}", "url: unknown key"),
    ("{receivers: [{webhook: 'http://x'}]}", "name: None is not a name"),
    ("{receivers: [{name: a, webhook: 'ftp://x'}]}", "is not a URL that starts with http"),
    ("{receivers: [{name: a, webhook: 'http://'}]}", "is not a URL that starts with http"),
    ("{receivers: [{name: a, webhook: 'http://[x'}]}", "is not a URL"),
    ("{receivers: [{name: a, webhook: 3}]}", "is not a URL"),
    ("{receivers: [{name: a, command: logger}]}", "command: is not a list of words"),
    ("{receivers: [{name: a, command: []}]}", "command: is not a list of words"),
    ("{receivers: [{name: a, command: [x], types: quarantined}]}", "types: is not a list of words"),
    ("{receivers: [{name: a, command: [x], token_env: KEY}]}", "token_env: is for webhooks"),
    ("{receivers: [{name: a, command: [x], timeout_s: 0}]}", "timeout_s: 0 is not a number above 0 and up to 60"),
    ("{receivers: [{name: a, command: [x], timeout_s: 61}]}", "timeout_s: 61"),
    ("{receivers: [{name: a, command: [x], timeout_s: .nan}]}", "timeout_s: nan"),
    ("{receivers: [{name: a, command: [x], attempts: 1.5}]}", "attempts: 1.5"),
    ("{receivers: [{name: a, command: [x], attempts: true}]}", "attempts: True"),
)


def written(folder: Path, value: str) -> Path:
    (folder / "clusterctl.yml").write_text(f"inventory: []\nevents: {value}\n")
    return folder


@pytest.mark.parametrize("value", GOOD)
def test_what_the_schema_accepts_is_read(tmp_path: Path, value: str) -> None:
    assert len(read_config(start=written(tmp_path, value)).events.receivers) == len(load_yaml(value)["receivers"])
    SCHEMA.validate(load_yaml(f"events: {value}"))


def test_values_and_defaults(tmp_path: Path) -> None:
    given = read_config(start=written(tmp_path, GOOD[1])).events
    assert given.source == "https://clusterctl.example.org/a"
    assert given.receivers == (
        EventReceiver("a", webhook="https://x.example.org/h", types=("clusterctl.node.*",), timeout_s=2.5, attempts=3),
    )
    assert read_config(start=written(tmp_path, GOOD[2])).events.receivers[1] == EventReceiver("b", command=("logger", "-t", "clusterctl"))


@pytest.mark.parametrize(("value", "said"), BAD)
def test_what_is_wrong_is_named_with_file_and_line(tmp_path: Path, value: str, said: str) -> None:
    with pytest.raises(ConfigError) as found:
        read_config(start=written(tmp_path, value))
    assert said in str(found.value)
    assert "clusterctl.yml:2" in str(found.value)
    assert found.value.hint


@pytest.mark.parametrize("value", [v for v, said in BAD if "name: None is not a name" not in said and "nan" not in v])
def test_the_schema_refuses_it_too(value: str) -> None:
    text_only = ("ftp://", "'http://'", "[x'", "token_env: KEY")  # a schema does not look into texts
    assert SCHEMA.is_valid(load_yaml(f"events: {value}")) is any(t in value for t in text_only)


def test_two_receivers_of_one_name_are_refused(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="a is declared twice"):
        read_config(start=written(tmp_path, "{receivers: [{name: a, command: [x]}, {name: a, command: [y]}]}"))


@pytest.mark.parametrize(
    "receiver", ["{name: a, webhook: 'https://me:hunter22@x.example.org'}", "{name: a, webhook_env: 'https://x/hunter22'}"]
)
def test_no_message_shows_a_secret(tmp_path: Path, receiver: str) -> None:
    with pytest.raises(ConfigError) as found:
        read_config(start=written(tmp_path, f"{{receivers: [{receiver}]}}"))
    assert "hunter22" not in f"{found.value} {found.value.hint}"
