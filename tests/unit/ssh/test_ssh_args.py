from __future__ import annotations

import shlex
from pathlib import Path

import pytest

from clusterctl.adapters.ssh.ssh_args import JumpHost, SshArgs, parse_ssh_args
from clusterctl.model.errors import ConfigError

HOME = Path("~").expanduser()


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("", SshArgs()),
        ("-o UserKnownHostsFile=/a/known_hosts", SshArgs(known_hosts=(Path("/a/known_hosts"),))),
        ("-oUserKnownHostsFile=~/kh", SshArgs(known_hosts=(HOME / "kh",))),
        ("-o 'UserKnownHostsFile /a /b'", SshArgs(known_hosts=(Path("/a"), Path("/b")))),
        ("-o UserKnownHostsFile=/a -o UserKnownHostsFile=/b", SshArgs(known_hosts=(Path("/a"),))),
        ("-o StrictHostKeyChecking=no", SshArgs(check_host_key=False)),
        ("-o stricthostkeychecking=OFF", SshArgs(check_host_key=False)),
        ("-o StrictHostKeyChecking=accept-new", SshArgs()),
        ("-o StrictHostKeyChecking=ask", SshArgs()),
        ("-J bastion", SshArgs(jumps=(JumpHost("", "bastion", 22),))),
        ("-o ProxyJump=ops@b1:2222,[fe80::1]:23", SshArgs(jumps=(JumpHost("ops", "b1", 2222), JumpHost("", "fe80::1", 23)))),
        ("-o ProxyJump=none", SshArgs()),
        ("-o ProxyCommand='ssh -W %h:%p bastion'", SshArgs(proxy_command="ssh -W %h:%p bastion")),
        ("-i ~/k1 -o IdentityFile=/k2 -o IdentitiesOnly=yes", SshArgs(key_paths=(HOME / "k1", Path("/k2")), identities_only=True)),
        ("-o ConnectTimeout=5 -p 2022 -l ops", SshArgs(connect_timeout_s=5, port=2022, user="ops")),
        ("-F /etc/site_ssh", SshArgs(config_file=Path("/etc/site_ssh"))),
        ("-o HostKeyAlias=n1 -o KexAlgorithms=curve25519-sha256", SshArgs(host_key_alias="n1", kex="curve25519-sha256")),
        ("-C -4 -q -o ControlMaster=auto -o ControlPersist=60s -o ControlPath=/tmp/%C -o BatchMode=yes", SshArgs()),
    ],
)
def test_supported_arguments_are_parsed(line: str, expected: SshArgs) -> None:
    assert parse_ssh_args(shlex.split(line)) == expected


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("-o HostbasedAuthentication=yes", "-o HostbasedAuthentication=yes"),
        ("-o RevokedHostKeys=/x", "-o RevokedHostKeys=/x"),
        ("-L 80:x:80", "-L 80:x:80"),
        ("-Z", "-Z"),
        ("-o", "-o"),
        ("host command", "host"),
        ("-p http", "-o port=http"),
        ("-o ProxyJump=a:b:c", "ProxyJump a:b:c"),
        ("-o ConnectTimeout=soon", "-o connecttimeout=soon"),
    ],
)
def test_unsupported_words_are_refused(line: str, word: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_ssh_args(shlex.split(line))
    assert repr(word) in str(caught.value)
