from __future__ import annotations

import pytest

from clusterctl_tools.linux_files import UnreadableFileError, parse_memory_gib
from clusterctl_tools.util_linux import UnreadableInventoryError, parse_lscpu, parse_nvme_data_disks
from support.recorded import recorded


@pytest.mark.parametrize(
    ("name", "sockets", "cores", "threads"),
    [("gcp-a3-highgpu-8g", "2", "52", "2"), ("aws-p4d.24xlarge", "2", "24", "2"), ("azure-Standard_NC96ads_A100_v4", "2", "48", "1")],
)
def test_recorded_lscpu(name: str, sockets: str, cores: str, threads: str) -> None:
    fields = parse_lscpu(recorded(f"lscpu/sparecores-{name}.json").read_text())
    assert (fields["Socket(s)"], fields["Core(s) per socket"], fields["Thread(s) per core"]) == (sockets, cores, threads)


def test_nested_fields_are_found() -> None:
    text = '{"lscpu": [{"field": "Vendor ID:", "data": "x", "children": [{"field": "Socket(s):", "data": "2"}]}]}'
    assert parse_lscpu(text)["Socket(s)"] == "2"


def test_memory() -> None:
    assert round(parse_memory_gib("MemTotal:       2113376000 kB\n")) == 2015
    with pytest.raises(UnreadableFileError):
        parse_memory_gib("MemFree: 3 kB")


def test_recorded_disks() -> None:
    disks = parse_nvme_data_disks(recorded("lsblk/sparecores-gcp-a3-highgpu-8g.json").read_text())
    # Recorded in a container, which does not see that the seventeenth carries the system.
    assert len(disks) == 17


def test_a_disk_with_the_system_on_a_volume_is_not_a_data_disk() -> None:
    text = (
        '{"blockdevices": [{"name": "nvme0n1", "type": "disk", "mountpoint": null, "children": [{"name": "p1", "type": "part", "mountpoint": null,'
        '"children": [{"name": "vg-root", "type": "lvm", "mountpoint": "/"}]}]}, {"name": "nvme1n1", "type": "disk", "mountpoint": "/scratch"}]}'
    )
    assert parse_nvme_data_disks(text) == ["nvme1n1"]


@pytest.mark.parametrize("text", ["", "[]", '{"blockdevices": [1]}', '{"blockdevices": null}', "lsblk: not found"])
def test_no_output_is_refused(text: str) -> None:
    with pytest.raises(UnreadableInventoryError):
        parse_nvme_data_disks(text)
