"""A lab node whose adapters count as on DGX H100: management and storage are between the ports of the fabric, and one adapter dies."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import pytest

from clusterctl_lab.simulator.hardware_kinds import DGX_H100
from support.demo_rack import DemoRack, FinishedCommand
from support.lab_ssh import LabSsh
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

NODE = "r242-n01"
LINK_TYPES = "for d in /sys/class/infiniband/*; do a=$(basename $(readlink -f $d/device)); echo $a $(mlxconfig -d $a -e query LINK_TYPE_P1 | grep -o '[A-Z]*([12])$'); done"


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRack]:
    made = DemoRack(tmp_path_factory.mktemp("site"), 242)
    made.write_site()
    try:
        made.lab_up("--nodes", "1", "--hardware", "dgx_h100", "--healthy")
        yield made
    finally:
        made.clusterctl("lab", "down", made.target)


@pytest.fixture(scope="module")
def ssh(rack: DemoRack) -> LabSsh:
    return LabSsh(rack.state_dir)


def apply(rack: DemoRack, *words: str) -> FinishedCommand:
    layers = [str(ROOT / "inventory" / "common"), str(ROOT / "inventory" / "lab"), str(rack.state_dir / "lab" / "hosts")]
    inventories = [word for layer in layers for word in ("-i", layer)]
    playbook = str(ROOT / "playbooks" / "provision.yml")
    settings = {"ANSIBLE_CONFIG": str(ROOT / "ansible.cfg"), "ANSIBLE_NOCOLOR": "1"}
    return rack.run("ansible-playbook", *inventories, "-l", NODE, playbook, "--tags", "hardware,ofed", *words, **settings)


def names(ssh: LabSsh) -> dict[str, str]:
    """PCI address -> RDMA device."""
    lines = ssh(NODE, "for d in /sys/class/infiniband/*; do echo $(basename $(readlink -f $d/device)) ${d##*/}; done").splitlines()
    return dict(line.split() for line in lines)


def reboot(rack: DemoRack) -> None:
    done = rack.run(
        "ansible",
        "-i",
        str(rack.state_dir / "lab" / "hosts"),
        NODE,
        "-m",
        "ansible.builtin.reboot",
        "-a",
        "reboot_timeout=120 post_reboot_delay=0",
    )
    assert done.code == 0, done.out + done.err


def test_names_of_a_board_without_other_adapters_are_refused(rack: DemoRack, ssh: LabSsh) -> None:
    """The profile of an HGX board on this machine: mlx5_1 is storage, mlx5_2 carries our connection."""
    hgx = (ROOT / "inventory" / "common" / "group_vars" / "fabric_ib_ndr_x8" / "hardware.yml").resolve()
    before = ssh(NODE, LINK_TYPES)
    assert names(ssh)["0000:29:00.1"] == "mlx5_2"
    done = apply(rack, "-e", f"@{hgx}", "-e", "ofed_mlxconfig={'LINK_TYPE_P1':'ETH'}")
    assert done.code == 2
    said = " ".join(done.out.split())
    assert "mlx5_1 (rail 1): is 0000:29:00.0, which is not behind the PCIe switch of GPU 1 (0000:43:00.0); 0000:40:00.0 (mlx5_3) is" in said
    assert ssh(NODE, LINK_TYPES) == before


def test_the_machine_model_names_each_card_by_its_address(rack: DemoRack, ssh: LabSsh) -> None:
    done = apply(rack)
    assert done.code == 0, done.out[-3000:]
    reboot(rack)
    assert [names(ssh)[a] for a in DGX_H100.hca_addresses] == [f"mlx5_r{i}" for i in range(8)]
    assert [names(ssh)[a] for _, a in DGX_H100.other_hcas] == ["mlx5_1", "mlx5_2", "mlx5_7", "mlx5_8"]
    done = apply(rack)
    assert done.code == 0, done.out[-3000:]
    assert "changed=0 " in done.out


def test_settings_stay_on_their_cards_where_one_is_dead(rack: DemoRack, ssh: LabSsh) -> None:
    before = names(ssh)
    rack.ok("lab", "fault", NODE, "hca_missing", "--device", "mlx5_5")
    reboot(rack)
    after = names(ssh)
    fabric = set(DGX_H100.hca_addresses) - {"0000:5e:00.0"}
    assert {a: after[a] for a in fabric} == {a: before[a] for a in fabric}
    assert (after["0000:aa:00.0"], after["0000:aa:00.1"]) == ("mlx5_6", "mlx5_7"), "the kernel's numbers moved"
    done = apply(rack)
    assert done.code == 2
    assert "mlx5_r3 (rail 3, slot OSFP4P1): no network adapter at 0000:5e:00.0" in " ".join(done.out.split())
    findings = rack.clusterctl("validate", NODE, "-k", "hardware.hca*", "-o", "json").json
    places = (".place", ".present")
    hints = {
        f["check"]: f["hint"]
        for node in findings["nodes"]
        for f in node["findings"]
        if f["check"].endswith(places) and f["outcome"] == "fail"
    }
    assert {check.partition("[")[2].partition("]")[0] for check in hints} == {"mlx5_r3"}
    assert hints["hardware.hca[mlx5_r3].place"].startswith("0000:5e:00.0, rail 3, slot OSFP4P1: the card is missing or dead")
