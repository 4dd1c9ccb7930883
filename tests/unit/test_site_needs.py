"""What `doctor` checks only where a site needs it: found, missing, and not shown."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from clusterctl.adapters.config import Config, PoolDeclaration
from clusterctl.adapters.pools.loader import check_pool
from clusterctl.adapters.pools.needs import pool_needs
from clusterctl.adapters.ssh.proxy_programs import proxy_programs
from clusterctl.model.errors import StoreError
from clusterctl.model.event_settings import EventReceiver, EventSettings
from clusterctl.model.node import Connection
from clusterctl.workflows import site_needs as needs

if TYPE_CHECKING:
    from clusterctl.model.doctor_check import Check

URL = "postgresql+psycopg://clusterctl:secret@db.example.net/clusterctl"
KEY = Path("keys/admission")


@pytest.fixture
def programs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder that is all of PATH."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))
    return folder


def install(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).symlink_to("/bin/true")


def site(**settings: object) -> Config:
    return Config(root=Path(), inventory=(), state_dir=Path("state"), **settings)  # type: ignore[arg-type]


def shown(config: Config, *ssh_args: str) -> dict[str, Check]:
    return {c.name: c for c in needs.site_needs(config, [Connection("n1", ssh_args=ssh_args), Connection("n2")])}


def test_a_site_without_needs_of_its_own_is_shown_nothing(programs: Path) -> None:
    assert shown(site()) == {}
    assert shown(site(database_url="sqlite:////nowhere/clusterctl.db")) == {}
    assert pool_needs(*check_pool(PoolDeclaration("local"))) == ()


@pytest.mark.parametrize(
    ("settings", "required"),
    [({"signing_key": KEY}, True), ({"allowed_signers": KEY}, False), ({"signing_key": KEY, "allowed_signers": KEY}, True)],
)
def test_signatures_need_ssh_keygen(programs: Path, settings: dict[str, Path], required: bool) -> None:
    missing = shown(site(**settings))["ssh-keygen"]
    assert (missing.ok, missing.required, missing.found) == (False, required, "missing")
    assert "openssh-client" in missing.hint
    assert set(shown(site(**settings))) == {"ssh-keygen"}
    install(programs, "ssh-keygen")
    assert shown(site(**settings))["ssh-keygen"].ok


def test_the_key_must_sign_and_the_list_must_be_there(tmp_path: Path) -> None:
    missing = shown(site(signing_key=tmp_path / "nosuch", allowed_signers=tmp_path / "nosuch_list"))
    assert (missing["signing key"].ok, missing["signing key"].required) == (False, True)
    assert "check signing_key in clusterctl.yml" in missing["signing key"].hint
    assert (missing["allowed signers"].ok, missing["allowed signers"].required) == (False, False)
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(tmp_path / "key")], check=True)
    (tmp_path / "list").write_text("ada " + (tmp_path / "key.pub").read_text())
    found = shown(site(signing_key=tmp_path / "key", allowed_signers=tmp_path / "list"))
    assert found["signing key"].ok
    assert found["allowed signers"].ok


def test_the_pool_of_slurm_needs_its_commands(programs: Path) -> None:
    pool = check_pool(PoolDeclaration("slurm"))
    install(programs, "scontrol")
    found = {c.name: c for c in pool_needs(*pool)}
    assert {name: (c.ok, c.required) for name, c in found.items()} == {"scontrol": (True, True), "squeue": (False, True)}
    assert "slurm-client" in found["squeue"].hint
    install(programs, "squeue")
    assert all(c.ok for c in pool_needs(*pool))


def test_the_command_of_a_receiver_is_not_started(programs: Path) -> None:
    own = programs / "page"
    own.write_text(f"#!/bin/sh\ntouch {programs}/started\n")
    commands = {"pager": ("page", "-"), "by-path": (str(own),), "chat": ("no-such-program",)}
    receivers = (*(EventReceiver(name, command=c) for name, c in commands.items()), EventReceiver("hook", webhook="https://example.org/"))
    config = site(events=EventSettings(receivers))
    assert {name: c.ok for name, c in shown(config).items()} == dict.fromkeys(
        ("receiver pager", "receiver by-path", "receiver chat"), False
    )
    own.chmod(0o755)
    found = shown(config)
    assert [found[f"receiver {name}"].ok for name in commands] == [True, True, False]
    assert (found["receiver chat"].required, found["receiver chat"].found) == (False, "no-such-program: missing, or not executable")
    assert not (programs / "started").exists()


def test_the_program_that_connections_go_through(programs: Path) -> None:
    words = ("-o", "ProxyCommand=tunnel --to '%h:%p'")
    missing = shown(site(), *words)["ProxyCommand tunnel"]
    assert (missing.ok, missing.required) == (False, True)
    install(programs, "tunnel")
    assert shown(site(), *words)["ProxyCommand tunnel"].ok


@pytest.mark.parametrize(
    "words", [(), ("-J", "bastion"), ("-o", "ProxyCommand=none"), ("-o", "ProxyCommand=tunnel 'x"), ("--unknown",), ("-o", "Nothing=1")]
)
def test_connections_that_need_no_program(words: tuple[str, ...]) -> None:
    assert proxy_programs([Connection("n1", ssh_args=words)]) == ()


@pytest.mark.parametrize(
    ("queued", "version", "expected"),
    [(False, "", {}), (True, "3.10.0", {"queue": (True, "procrastinate 3.10.0")}), (True, "", {"queue": (False, "missing")})],
)
def test_the_library_of_the_queue_is_needed_where_racks_were_queued(
    monkeypatch: pytest.MonkeyPatch, queued: bool, version: str, expected: dict[str, tuple[bool, str]]
) -> None:
    monkeypatch.setattr(needs, "require_readable_record", lambda _url: None)
    monkeypatch.setattr(needs, "has_queued_racks", lambda url: queued if url == URL else None)
    monkeypatch.setattr(needs, "queue_library", lambda: version)
    found = shown(site(database_url=URL))
    assert (found["record"].ok, found["record"].found) == (True, URL.replace("secret", "***"))
    assert {name: (c.ok, c.found) for name, c in found.items() if name != "record"} == expected
    if queued:
        assert "clusterctl[queue]" in found["queue"].hint


def test_a_record_that_does_not_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(_url: str) -> None:
        raise StoreError(path="db", detail="connection refused", hint="start it")

    monkeypatch.setattr(needs, "require_readable_record", refuse)
    found = shown(site(database_url=URL))
    assert list(found) == ["record"]
    assert (found["record"].ok, found["record"].required, found["record"].hint) == (False, True, "start it")
    assert "connection refused" in found["record"].found
