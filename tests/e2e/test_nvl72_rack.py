"""A rack of GB300 compute trays, from new to admitted: one NVLink domain, with a burn-in over NVLink."""

from __future__ import annotations

import json
import shutil
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.model.exit_codes import ExitCode
from support.demo_rack import DemoRack
from support.lab_ssh import LabSsh

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = [pytest.mark.containers, pytest.mark.slow, pytest.mark.skipif(not shutil.which("podman"), reason="podman is not installed")]

CHANNEL = "/dev/nvidia-caps-imex-channels/channel0"


@pytest.fixture(scope="module")
def rack(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DemoRack]:
    made = DemoRack(tmp_path_factory.mktemp("site"), 97)
    made.write_site()
    try:
        made.lab_up("--nodes", "2", "--hardware", "gb300_nvl72")
        yield made
    finally:
        made.clusterctl("lab", "down", made.target)


@pytest.fixture(scope="module")
def admitted(rack: DemoRack) -> DemoRack:
    rack.ok("lab", "fault", rack.node(2), "fabric_slow", "--option", "30")
    rack.ok("lab", "fault", rack.node(1), "nv_config_cold", "--option", "SRIOV_EN")
    done = rack.clusterctl("provision", rack.target, "--yes")
    rack.ok("lab", "fault", rack.node(2), "--clear")
    rack.ok("lab", "fault", rack.node(1), "--clear")
    assert done.code == 0, done.err
    assert rack.states() == {rack.node(1): "admitted", rack.node(2): "admitted"}
    return rack


def records(rack: DemoRack, gate: str) -> list[dict[str, Any]]:
    (file,) = rack.state_dir.glob(f"runs/*-provision-*/gates/{gate}/{rack.node(1)}.json")
    found: list[dict[str, Any]] = json.loads(file.read_text())["records"]
    return found


def test_the_reboot_waited_for_a_fabric_that_came_up_late(admitted: DemoRack) -> None:
    log = min(admitted.state_dir.glob("runs/*-provision-*/ansible/*-reboot/ansible.log"))
    waited = log.read_text().split("TASK [Wait until the GPUs have joined the NVLink fabric]")[-1]
    assert f"ok: [{admitted.node(2)}]" in waited.partition("TASK [")[0]
    assert "not up" not in waited


def test_the_adapter_that_kept_its_setting_through_the_reboot_got_one_power_cycle(admitted: DemoRack) -> None:
    (command,) = admitted.state_dir.glob("runs/*-provision-*/ansible/*-booted/command.txt")
    limit = command.read_text().split()
    assert admitted.node(1) in limit
    assert not any(admitted.node(2) in word for word in limit)
    newest_first = admitted.ok("bmc", admitted.node(1), "-o", "json").json["nodes"][0]["log"]
    assert [r["message"].rpartition(": ")[2] for r in newest_first if "Reset by Redfish" in r["message"]] == ["On", "GracefulShutdown"]


def test_the_group_gate_measured_over_nvlink(admitted: DemoRack) -> None:
    record, network = (r for r in records(admitted, "nccl_group") if r["peers"])
    assert (record["step"], network["step"]) == ("group", "group@network")
    assert record["peers"] == [admitted.node(1), admitted.node(2)]
    (ranks,) = (r for r in records(admitted, "nccl_group") if r["step"] == "ranks")
    assert "via P2P/MNNVL" in ranks["stdout"]
    assert "NET/IB/" not in ranks["stdout"]
    (ranks,) = (r for r in records(admitted, "nccl_group") if r["step"] == "ranks@network")
    assert "/GDRDMA" in ranks["stdout"]
    assert "via P2P/MNNVL" not in ranks["stdout"]


def test_a_tray_is_measured_without_imex_or_a_channel(admitted: DemoRack) -> None:
    (record,) = records(admitted, "nccl_node")
    assert record["exit_status"] == 0
    assert "via P2P/CUMEM" in record["stdout"]
    enabled = LabSsh(admitted.state_dir)(admitted.node(1), "NCCL_MNNVL_ENABLE=1 all_reduce_perf -b 1G -e 1G -g 4", check=False)
    assert "MNNVL (cliqueSize 4) is available but not working" in enabled


def test_the_imex_channel_exists_only_during_the_measurement(admitted: DemoRack) -> None:
    ssh = LabSsh(admitted.state_dir)
    for slot in (1, 2):
        assert ssh(admitted.node(slot), f"test -e {CHANNEL} && echo there || echo gone") == "gone"


def test_the_measurement_starts_its_own_imex_if_none_runs(admitted: DemoRack) -> None:
    ssh, nodes = LabSsh(admitted.state_dir), [admitted.node(1), admitted.node(2)]
    for node in nodes:
        ssh(node, "systemctl stop nvidia-imex")
    done = admitted.clusterctl("burnin", admitted.target, "--gates", "nccl_group", "--in-service", "-o", "json")
    left = [ssh(node, "systemctl is-active clusterctl-burnin-imex nvidia-imex", check=False).split() for node in nodes]
    for node in nodes:
        ssh(node, "systemctl start nvidia-imex")
    assert done.code == 0, done.err
    assert left == [["inactive", "inactive"]] * 2


def test_imex_connects_the_trays(admitted: DemoRack) -> None:
    domain = json.loads(LabSsh(admitted.state_dir)(admitted.node(2), "nvidia-imex-ctl -N -j"))
    assert domain["status"] == "UP"
    assert {node["status"] for node in domain["nodes"].values()} == {"READY"}


def test_a_gpu_that_leaves_the_fabric_is_detected(admitted: DemoRack) -> None:
    admitted.ok("lab", "fault", admitted.node(2), "fabric_stuck", "--device", "1")
    try:
        done = admitted.clusterctl("validate", admitted.target, "-o", "json")
    finally:
        admitted.ok("lab", "fault", admitted.node(2), "--clear")
    assert done.code == ExitCode.VALIDATOR_FAILED
    node = next(n for n in done.json["nodes"] if n["name"] == admitted.node(2))
    bad = {f["check"] for f in node["findings"] if f["outcome"] in ("fail", "could_not_run")}
    assert {"nvlink_domain.gpu[1].fabric.state", "hardware.gpu[1].fabric", "nvlink_domain.cluster_uuid"} <= bad
    assert not any("gpu[0]" in check for check in bad)


def test_the_rack_is_in_its_declared_state_again(admitted: DemoRack) -> None:
    admitted.ok("validate", admitted.target)


def test_the_hardware_of_a_running_rack_cannot_be_changed(rack: DemoRack) -> None:
    done = rack.clusterctl("lab", "up", rack.target, "--nodes", "2")
    assert done.code == ExitCode.USAGE
    assert "simulates gb300_nvl72, not hgx_h100" in done.err
    hardware = {n["hardware"] for n in rack.ok("lab", "status", rack.target, "-o", "json").json["nodes"]}
    assert hardware == {"gb300_nvl72"}
