"""The lab's Redfish service of one node on the loopback over real TLS; only podman is replaced."""

from __future__ import annotations

import ssl
import threading
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from clusterctl.model.errors import LabError
from clusterctl_lab.bmc import power
from clusterctl_lab.bmc.__main__ import TlsServer
from clusterctl_lab.bmc.accounts import Account
from clusterctl_lab.bmc.certificate import write_certificate
from clusterctl_lab.bmc.handler import Bmc, BmcHandler

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    import pytest

USER = "admin"
PASSWORD = "planted-secret-7"
ACCOUNTS = (Account(USER, PASSWORD), Account("auditor", "planted-secret-8", may_change=False))


@dataclass
class Box:
    """A node without a container that records its resets."""

    on: bool = True
    started_at: float = 0
    resets: list[str] = field(default_factory=list)
    broken: bool = False

    def power(self, _node: str) -> power.PowerState:
        if self.broken:
            raise LabError(detail="no such container", hint="")
        return power.PowerState(self.on, self.started_at)

    def reset(self, _node: str, kind: str) -> None:
        self.resets.append(kind)
        self.on = "Off" not in kind and "Shutdown" not in kind
        self.started_at = time.time() + 1


def new_box(monkeypatch: pytest.MonkeyPatch) -> Box:
    """A node that the service switches instead of a container."""
    made = Box()
    monkeypatch.setattr(power, "power_state", made.power)
    monkeypatch.setattr(power, "reset_node", made.reset)
    return made


@contextmanager
def served(folder: Path) -> Iterator[tuple[str, Path]]:
    """The URL of the service and the certificate that it is verified with."""
    write_certificate(folder / "ca.pem", folder / "key.pem", ["127.0.0.1"])
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(folder / "ca.pem", folder / "key.pem")
    bmc = Bmc("r12-n01", folder / "bmc.json", ACCOUNTS)
    server = TlsServer(("127.0.0.1", 0), type("Handler", (BmcHandler,), {"bmc": bmc}))
    server.tls = tls
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield f"https://127.0.0.1:{server.server_address[1]}", folder / "ca.pem"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
