"""Signatures of kernel modules: removed, or made with another key, as `scripts/sign-file` of the kernel does."""

from __future__ import annotations

import struct
import subprocess
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

_MAGIC = b"~Module signature appended~\n"
# struct module_signature (include/linux/module_signature.h): algorithm, hash, kind of id, two lengths, size of the signature.
_TRAILER = struct.Struct(">5B3xI")
_PKCS7 = 2


def without_signature(module: bytes) -> bytes:
    """The module as it was built."""
    assert module.endswith(_MAGIC)
    end = len(module) - len(_MAGIC) - _TRAILER.size
    return module[: end - _TRAILER.unpack_from(module, end)[-1]]


def signed_with_own_key(module: bytes, folder: Path, name: str) -> bytes:
    """The unsigned `module`, signed with a new key whose certificate is of `name`."""
    (folder / "module.ko").write_bytes(module)
    certificate = ("-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "module.key", "-out", "module.pem", "-subj", f"/CN={name}")
    plain = ("-binary", "-nocerts", "-noattr", "-nosmimecap", "-outform", "DER", "-md", "sha256")
    _openssl(folder, "req", *certificate)
    _openssl(folder, "cms", "-sign", *plain, "-in", "module.ko", "-signer", "module.pem", "-inkey", "module.key", "-out", "module.sig")
    signature = (folder / "module.sig").read_bytes()
    return module + signature + _TRAILER.pack(0, 0, _PKCS7, 0, 0, len(signature)) + _MAGIC


def _openssl(folder: Path, *words: str) -> None:
    subprocess.run(["openssl", *words], cwd=folder, check=True, capture_output=True)
