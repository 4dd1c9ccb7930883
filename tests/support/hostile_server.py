"""A TLS server on loopback that answers every request with the same bytes, in pieces, whatever HTTP says about it."""

from __future__ import annotations

import contextlib
import re
import socket
import ssl
import threading
import time
from typing import TYPE_CHECKING, Self

from support.redfish_bmc import certificate

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path
    from types import TracebackType

_KUBECONFIG = """apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{url}", certificate-authority: "{ca}"}}}}]
users: [{{name: u, user: {{token: t}}}}]
contexts: [{{name: c, context: {{cluster: c, user: u}}}}]
current-context: c
"""


class HostileServer:
    """A context manager; `pieces` are sent with `pause_s` between them, then the connection is closed."""

    def __init__(self, folder: Path, pieces: Sequence[bytes], pause_s: float = 0.0) -> None:
        self._pieces, self._pause_s = tuple(pieces), pause_s
        self.ca_file = certificate(folder)
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(self.ca_file, folder / "bmc-key.pem")
        self._socket = socket.create_server(("127.0.0.1", 0))
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._serve, daemon=True)

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self._socket.getsockname()[1]}"

    def __enter__(self) -> Self:
        self._socket.settimeout(0.05)
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None) -> None:
        self._stopped.set()
        self._thread.join()
        self._socket.close()

    def _serve(self) -> None:
        while not self._stopped.is_set():
            with contextlib.suppress(OSError):
                plain, _ = self._socket.accept()
                plain.settimeout(5)
                with self._context.wrap_socket(plain, server_side=True) as client:
                    _read_request(client)
                    self._answer(client)

    def _answer(self, client: ssl.SSLSocket) -> None:
        for piece in self._pieces:
            if self._stopped.is_set():
                return
            client.sendall(piece)
            if self._pause_s:
                time.sleep(self._pause_s)


def _read_request(client: ssl.SSLSocket) -> None:
    """All of it: to close a connection with unread bytes resets it, and the answer with it."""
    head, body = b"", b""
    while piece := client.recv(65536):
        head, end, body = (head + piece).partition(b"\r\n\r\n")
        if end:
            break
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    left = int(length[1]) - len(body) if length else 0
    while left > 0 and (piece := client.recv(65536)):
        left -= len(piece)


def write_kubeconfig(folder: Path, server: HostileServer) -> str:
    """The path of a kubeconfig that names the server."""
    file = folder / "kubeconfig"
    file.write_text(_KUBECONFIG.format(url=server.url, ca=server.ca_file))
    return str(file)
