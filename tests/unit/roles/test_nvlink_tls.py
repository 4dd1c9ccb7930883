"""Key and certificates of IMEX, installed on this machine from files that openssl made: refused before anything is replaced if they cannot work."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from support.local_play import role_tasks, run_play

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("openssl"), reason="needs root, which owns the files, and openssl")
# The handler is called, and does nothing: no driver is loaded here.
RESTART = "skipped=1"


@dataclass(frozen=True)
class Made:
    """An authority, and key and certificate of a tray."""

    folder: Path

    def openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)

    def authority(self, name: str) -> None:
        """A self-signed certificate."""
        self.openssl(
            "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-subj", f"/CN={name}"
        )

    def tray(self, name: str, *more: str) -> None:
        """A certificate that the authority `ca` signed."""
        self.openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", "/CN=imex.example.net"
        )
        more = more or ("-days", "7")
        self.openssl(
            "x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-out", f"{name}.pem", *more
        )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    found = Made(tmp_path_factory.mktemp("made"))
    found.authority("ca")
    found.authority("other")
    found.tray("tray")
    return found


def play(root: Path, made: Made, *, key: str = "tray", authority: str = "ca") -> tuple[int, str]:
    """Run the task file tls of the role on this machine, with its folder below `root`."""
    variables = {
        "__nvlink_domain_tls": str(root / "tls"),
        "nvlink_domain_imex_tls": {
            "certificate": str(made.folder / "tray.pem"),
            "key": str(made.folder / f"{key}.key"),
            "authority": str(made.folder / f"{authority}.pem"),
            "target_name": "imex.example.net",
        },
    }
    done = run_play(root, role_tasks("nvlink_domain", "tls"), "--diff", variables=variables)
    return done.code, done.output


def test_they_are_installed_once_and_no_secret_is_printed(tmp_path: Path, made: Made) -> None:
    code, output = play(tmp_path, made)
    assert code == 0, output
    assert RESTART in output
    assert "PRIVATE KEY" not in output
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "tls").iterdir()}
    assert modes == {"key.pem": 0o600, "certificate.pem": 0o644, "authority.pem": 0o644}
    code, output = play(tmp_path, made)
    assert (code, "changed=0" in output) == (0, True), output


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"key": "ca"}, "key.pem is not that of certificate.pem"),
        ({"authority": "other"}, "unable to get local issuer certificate"),
    ],
)
def test_what_does_not_belong_together_is_refused_before_imex_restarts(
    changes: dict[str, str], reason: str, tmp_path: Path, made: Made
) -> None:
    code, output = play(tmp_path, made, **changes)
    assert code != 0
    assert reason in output
    assert RESTART not in output


def test_an_expired_certificate_replaces_nothing(tmp_path: Path, made: Made) -> None:
    assert play(tmp_path, made)[0] == 0
    kept = (tmp_path / "tls" / "certificate.pem").read_text()
    old = Made(tmp_path)
    for name in ("ca.pem", "ca.key"):
        shutil.copy(made.folder / name, tmp_path / name)
    old.tray("tray", "-days", "-1")
    code, output = play(tmp_path, old)
    assert code != 0
    assert "failed to validate" in output
    assert (tmp_path / "tls" / "certificate.pem").read_text() == kept
