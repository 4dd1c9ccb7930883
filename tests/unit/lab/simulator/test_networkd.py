"""What the simulated systemd-networkd does with rails: the installer's netplan, and a takeover before it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator import networkd
from clusterctl_lab.simulator.pseudo_files import write_files

if TYPE_CHECKING:
    from pathlib import Path

RAILS = {"ens10np0": "0000:18:00.0", "ens11np0": "0000:3d:00.0"}
INSTALLER = {
    "etc/netplan/50-cloud-init.yaml": "network:\n  version: 2\n  ethernets:\n    eno1:\n      dhcp4: true\n    ens10np0:\n      dhcp4: true"
}
OVERRIDE = {"etc/netplan/95-x.yaml": "network:\n  ethernets:\n    ens10np0:\n      dhcp4: false\n      optional: true\n  version: 2"}
TAKEOVER = {"etc/systemd/network/05-x.network": "[Match]\nPath=pci-0000:18:00.0\n\n[Link]\nUnmanaged=yes"}


@pytest.mark.parametrize(
    ("files", "states"),
    [
        ({}, {}),
        (INSTALLER, {"ens10np0": "configuring", "ens11np0": "unmanaged"}),
        (INSTALLER | OVERRIDE, {"ens10np0": "configured", "ens11np0": "unmanaged"}),
        (INSTALLER | OVERRIDE | TAKEOVER, {"ens10np0": "unmanaged", "ens11np0": "unmanaged"}),
        ({"etc/systemd/network/20-all.network": "[Match]\nName=en*\n\n[Network]\nDHCP=yes"}, dict.fromkeys(RAILS, "configuring")),
    ],
)
def test_the_first_file_that_matches_decides(files: dict[str, str | int | bytes], states: dict[str, str], tmp_path: Path) -> None:
    index = {f"sys/devices/virtual/net/{name}/ifindex": i for i, name in enumerate(RAILS, 7)}
    write_files(str(tmp_path), {**files, **index})
    networkd.show(RAILS, str(tmp_path))
    links = {name: tmp_path / f"run/systemd/netif/links/{i}" for i, name in enumerate(RAILS, 7)}
    assert {name: link.read_text().split("ADMIN_STATE=")[1].split()[0] for name, link in links.items() if link.exists()} == states
