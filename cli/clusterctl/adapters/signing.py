"""Signatures on admission records with OpenSSH, without a key server or another tool; `ssh-keygen -Y verify` verifies them."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING

from clusterctl.adapters.private_directory import private_dir
from clusterctl.model.errors import SigningError
from clusterctl.model.program import Program
from clusterctl.model.records import AdmissionRecord

if TYPE_CHECKING:
    from pathlib import Path

NAMESPACE = "clusterctl-admission"
_LIMIT_S = 30

Signer = Callable[[AdmissionRecord], AdmissionRecord]


def unsigned(record: AdmissionRecord) -> AdmissionRecord:
    """The signer without a key: returns the record unchanged."""
    return record


def signer(key: Path | None) -> Signer:
    """The signer for a key; `unsigned` without a key.

    Raises:
        SigningError: the key cannot sign; raised here, not after the first burn-in.
    """
    if key is None:
        return unsigned
    sign("", key)
    return lambda record: replace(record, signature=sign(record.document, key))


def sign(document: str, key: Path) -> str:
    """The ASCII-armoured signature of a document.

    Raises:
        SigningError: the key is missing or locked, or ssh-keygen refuses it.
    """
    done = _ssh_keygen(["sign", "-f", str(key), "-n", NAMESPACE], document)
    if done.returncode:
        hint = "check signing_key in clusterctl.yml; a key with a passphrase must be in the ssh-agent, and signing_key its .pub"
        raise SigningError(detail=f"cannot sign with {key}: {_last_line(done)}", hint=hint)
    return done.stdout


def verify_signature(document: str, signature: str, allowed_signers: Path) -> str:
    """The principal that signed a document.

    Raises:
        SigningError: no allowed signer signed it, or the document was changed.
    """
    with private_dir() as folder:
        file = folder / "signature"
        file.write_text(signature, encoding="ascii", errors="replace")
        names = ["-s", str(file), "-f", str(allowed_signers)]
        found = _ssh_keygen(["find-principals", *names], "")
        principal = found.stdout.partition("\n")[0].strip()
        if found.returncode or not principal:
            detail = f"not signed by any principal in {allowed_signers}: {_last_line(found)}"
            raise SigningError(detail=detail, hint="find out where this record comes from")
        done = _ssh_keygen(["verify", *names, "-n", NAMESPACE, "-I", principal], document)
        if done.returncode:
            raise SigningError(
                detail=f"its signature does not match: {_last_line(done)}", hint="the record was changed after it was signed"
            )
    return principal


def _ssh_keygen(words: list[str], text: str) -> subprocess.CompletedProcess[str]:
    # No terminal and no askpass: a locked key must be an error, not a prompt during a run.
    environment = os.environ | {"SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
    try:
        return subprocess.run(
            [Program.SSH_KEYGEN, "-Y", *words],
            input=text,
            capture_output=True,
            text=True,
            check=False,
            timeout=_LIMIT_S,
            env=environment,
            start_new_session=True,
        )
    except FileNotFoundError as e:
        raise SigningError(detail="ssh-keygen is not installed", hint="apt-get install openssh-client") from e
    except subprocess.TimeoutExpired as e:
        raise SigningError(detail=f"ssh-keygen did not answer within {_LIMIT_S} s", hint="check that the ssh-agent responds") from e


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return lines[-1] if lines else f"exit status {done.returncode}"
