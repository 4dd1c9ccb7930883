"""An authority and the certificates that it signs, made by openssl."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path

NAME = "imex.example.net"


@dataclass(frozen=True)
class Certificates:
    """Keys (`NAME.key`) and certificates (`NAME.pem`) in one folder."""

    folder: Path

    def authority(self, name: str = "ca") -> None:
        """Make a self-signed certificate."""
        files = ("-keyout", f"{name}.key", "-out", f"{name}.pem")
        self._openssl("req", "-x509", "-newkey", "rsa:2048", "-nodes", *files, "-subj", f"/CN={name}", "-days", "90")

    def tray(self, name: str, *, days: int) -> None:
        """Make the certificate of a compute tray, signed by the authority `ca`; one with negative `days` has expired."""
        self.sign(name, NAME, days=days)

    def sign(self, name: str, common_name: str, *, by: str = "ca", days: int = 2) -> None:
        """Make a key and a certificate that the authority `by` signs."""
        self._openssl(
            "req", "-newkey", "rsa:2048", "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.csr", "-subj", f"/CN={common_name}"
        )
        signed_by = ("-CA", f"{by}.pem", "-CAkey", f"{by}.key", "-CAcreateserial")
        self._openssl("x509", "-req", "-in", f"{name}.csr", *signed_by, "-out", f"{name}.pem", "-days", str(days))

    def imex_tls(self, *, certificate: str, key: str, authority: str) -> dict[str, str]:
        """The variable `nvlink_domain_imex_tls` with these files."""
        files = {"certificate": f"{certificate}.pem", "key": f"{key}.key", "authority": f"{authority}.pem"}
        return {what: str(self.folder / file) for what, file in files.items()} | {"target_name": NAME}

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self.folder, check=True, capture_output=True)
