"""Key and certificates of IMEX, installed on this machine from files that openssl made: refused before anything is replaced if they cannot work."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING

import pytest

from support.certificates import Certificates
from support.local_play import role_tasks, run_play

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.skipif(os.geteuid() != 0 or not shutil.which("openssl"), reason="needs root, which owns the files, and openssl")
# The handler is called, and does nothing: no driver is loaded here.
RESTART = "skipped=1"


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    found = Certificates(tmp_path_factory.mktemp("made"))
    found.authority()
    found.authority("other")
    found.tray("tray", days=7)
    return found


def play(root: Path, made: Certificates, *, key: str = "tray", authority: str = "ca") -> tuple[int, str]:
    """Run the task file tls of the role on this machine, with its folder below `root`."""
    variables = {
        "__nvlink_domain_tls": str(root / "tls"),
        "nvlink_domain_imex_tls": made.imex_tls(certificate="tray", key=key, authority=authority),
    }
    done = run_play(root, role_tasks("nvlink_domain", "tls"), "--diff", variables=variables)
    return done.code, done.output


def test_they_are_installed_once_and_no_secret_is_printed(tmp_path: Path, made: Certificates) -> None:
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
    changes: dict[str, str], reason: str, tmp_path: Path, made: Certificates
) -> None:
    code, output = play(tmp_path, made, **changes)
    assert code != 0
    assert reason in output
    assert RESTART not in output


def test_an_expired_certificate_replaces_nothing(tmp_path: Path, made: Certificates) -> None:
    assert play(tmp_path, made)[0] == 0
    kept = (tmp_path / "tls" / "certificate.pem").read_text()
    old = Certificates(tmp_path)
    for name in ("ca.pem", "ca.key"):
        shutil.copy(made.folder / name, tmp_path / name)
    old.tray("tray", days=-1)
    code, output = play(tmp_path, old)
    assert code != 0
    assert "failed to validate" in output
    assert (tmp_path / "tls" / "certificate.pem").read_text() == kept
