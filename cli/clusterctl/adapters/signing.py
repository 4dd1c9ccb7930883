"""Signatures on admission records, by OpenSSH: no key server, no further tool. Verifiable by hand with `ssh-keygen -Y verify`."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from clusterctl.model.errors import SigningError
from clusterctl.model.records import AdmissionRecord

NAMESPACE = "clusterctl-admission"
_LIMIT_S = 30

Signer = Callable[[AdmissionRecord], AdmissionRecord]


def unsigned(record: AdmissionRecord) -> AdmissionRecord:
    """The signer of a site that does not sign."""
    return record


def signer(key: Path | None) -> Signer:
    """What signs with this key; without a key, `unsigned`.

    Raises:
        SigningError: the key cannot sign; told now, not when the first node has been burned in.
    """
    if key is None:
        return unsigned
    sign("", key)
    return lambda record: replace(record, signature=sign(record.document, key))


def sign(document: str, key: Path) -> str:
    """The armoured signature of a document.

    Raises:
        SigningError: the key is missing, locked, or refused by ssh-keygen.
    """
    done = _ssh_keygen(["sign", "-f", str(key), "-n", NAMESPACE], document)
    if done.returncode:
        hint = "check signing_key in clusterctl.yml; a key with a passphrase must be in the ssh-agent, and signing_key its .pub"
        raise SigningError(detail=f"cannot sign with {key}: {_last_line(done)}", hint=hint)
    return done.stdout


def verify_signature(document: str, signature: str, allowed_signers: Path) -> str:
    """Who signed a document.

    Raises:
        SigningError: nobody of the allowed signers did, or the document is not what was signed.
    """
    with tempfile.TemporaryDirectory(prefix="clusterctl-verify-") as folder:
        file = Path(folder) / "signature"
        file.write_text(signature, encoding="ascii", errors="replace")
        names = ["-s", str(file), "-f", str(allowed_signers)]
        found = _ssh_keygen(["find-principals", *names], "")
        who = found.stdout.partition("\n")[0].strip()
        if found.returncode or not who:
            raise SigningError(detail=f"not signed by anybody in {allowed_signers}: {_last_line(found)}", hint="who made this record?")
        done = _ssh_keygen(["verify", *names, "-n", NAMESPACE, "-I", who], document)
        if done.returncode:
            raise SigningError(detail=f"its signature does not fit: {_last_line(done)}", hint="the record was changed after it was signed")
    return who


def _ssh_keygen(words: list[str], text: str) -> subprocess.CompletedProcess[str]:
    # No terminal and no askpass: a locked key is an error, not a question in the middle of a run.
    environment = os.environ | {"SSH_ASKPASS_REQUIRE": "never", "LC_ALL": "C"}
    try:
        return subprocess.run(
            ["ssh-keygen", "-Y", *words],
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
        raise SigningError(detail=f"ssh-keygen did not answer within {_LIMIT_S} s", hint="is the ssh-agent stuck?") from e


def _last_line(done: subprocess.CompletedProcess[str]) -> str:
    lines = [line.strip() for line in (done.stderr or done.stdout).splitlines() if line.strip()]
    return lines[-1] if lines else f"exit status {done.returncode}"
