"""`python -m clusterctl_lab.bmc LAB_ROOT NODE...`: serves the BMCs of these nodes until SIGTERM or SIGINT."""

from __future__ import annotations

import logging
import signal
import ssl
import sys
import threading
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl_lab.bmc.handler import Bmc, BmcHandler
from clusterctl_lab.inventory_layer import bmc_accounts
from clusterctl_lab.layout import BMC_PORT, LabPaths, lab_node
from clusterctl_lab.node_hardware import hardware_of

if TYPE_CHECKING:
    import socket

_LOG = logging.getLogger(__name__)


class TlsServer(ThreadingHTTPServer):
    """Does the TLS handshake in the thread of the request, so that a silent client does not block the others."""

    daemon_threads = True
    tls: ssl.SSLContext

    def get_request(self) -> tuple[socket.socket, object]:
        """Accept a connection; the handshake happens at the first read."""
        connection, address = super().get_request()
        return self.tls.wrap_socket(connection, server_side=True, do_handshake_on_connect=False), address

    def handle_error(self, request: object, client_address: object) -> None:  # noqa: ARG002 the signature is socketserver's
        """Log in one line that a client disconnected or rejected the certificate."""
        _LOG.info("%s: %s", client_address, sys.exc_info()[1])


def main(root: Path, names: list[str]) -> None:
    """Serve until SIGTERM or SIGINT."""
    paths = LabPaths(root)
    accounts = bmc_accounts(paths)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(paths.bmc_certificate, paths.bmc_key)
    for name in names:
        bmc = Bmc(name, paths.node_dir(name) / "bmc.json", accounts, hardware_of(paths, name))
        server = TlsServer((lab_node(name).bmc_address, BMC_PORT), type("Handler", (BmcHandler,), {"bmc": bmc}))
        server.tls = tls
        threading.Thread(target=server.serve_forever, daemon=True).start()
    _LOG.info("serving %s", " ".join(names))
    signal.sigwait({signal.SIGTERM, signal.SIGINT})


if __name__ == "__main__":
    logging.basicConfig(format="%(asctime)s %(message)s", level=logging.INFO)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM, signal.SIGINT})
    main(Path(sys.argv[1]), sys.argv[2:])
