"""Reading, recording and comparing the parts of nodes."""

from __future__ import annotations

import asyncio
import base64
import subprocess
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl.adapters.ssh import read_parts as module
from clusterctl.adapters.ssh.read_parts import parse_answer, read_parts
from clusterctl.adapters.ssh.remote_result import RemoteResult, TransportError, TransportFailure
from clusterctl.adapters.store import Store
from clusterctl.model.part import NodeParts, OtherMachine, Part
from clusterctl.terminal.parts import show_parts, show_unread
from clusterctl.workflows.parts import read_all_parts, record_parts
from clusterctl_validators.vendor_nvidia import VENDOR
from support.provisioning import World, node

if TYPE_CHECKING:
    from pathlib import Path

GPU = Part("gpu", "0000:18:00.0", "GPU 3", "H100", "A")
NIC = Part("nic", "0000:1a:00.0", "mlx5_0", "CX7", "MT1")
N1 = "r12-n01"
DMI = "Handle 0x0001, DMI type 1, 27 bytes\nSystem Information\n\tProduct Name: XE9680\n\tSerial Number: S1\n"
VPD = base64.b64encode(b"\x82\x03\x00CX7\x90\x07\x00SN\x04MT01\x78").decode()


def answer(dmi: str = DMI, gpu: str = "0, 00000000:18:00.0, A, H100\n", dmi_status: int = 0, gpu_status: int = 0) -> str:
    sections = {
        "dmi": (dmi, dmi_status),
        "gpu": (gpu, gpu_status),
        "nic": (f"mlx5_0 0000:1a:00.0 {VPD}\nmlx5_1 0000:1b:00.0 \nmlx5_2 0000:1c:00.0 ??\nsmi1 0000:1a:00.0 {VPD}\n", 0),
        "nvme": ("nvme0 0000:01:00.0\tS6XX   \tSAMSUNG\nnvme1 0000:02:00.0\t\tNONE\n", 0),
    }
    return "".join(f"\n=== clusterctl {name}\n{body}\n=== clusterctl end {status}\n" for name, (body, status) in sections.items())


def test_an_answer_of_a_node() -> None:
    found = parse_answer(N1, VENDOR, answer())
    assert [(p.kind, p.slot, p.name, p.serial) for p in found.parts] == [
        ("system", "", "system", "S1"),
        ("gpu", "0000:18:00.0", "GPU 0", "A"),
        ("nic", "0000:1a:00.0", "mlx5_0", "MT01"),
        ("nvme", "0000:01:00.0", "nvme0", "S6XX"),
    ]
    assert (found.problem, found.missing) == ("", ())


def test_an_adapter_with_a_device_for_the_subnet_manager_is_one_part() -> None:
    """ConnectX-8 XDR: `rdma dev add smi1 type SMI parent mlx5_0` (Linux, RDMA: Multi-plane support for mlx5)."""
    text = answer().replace("mlx5_1 0000:1b:00.0 \n", f"smi1 0000:1a:00.0 {VPD}\n")
    assert [p.name for p in parse_answer(N1, VENDOR, text).parts if p.kind == "nic"] == ["mlx5_0"]


def test_a_function_that_manages_nvswitches_is_no_adapter() -> None:
    vpd = base64.b64encode(b"\x82\x03\x00CX7\x90\x16\x00SN\x03MT9V0\x0dX,SMDL=SW_MNG\x78").decode()
    text = answer().replace("mlx5_1 0000:1b:00.0 \n", f"mlx5_8 0000:05:00.0 {vpd}\n")
    found = [p for p in parse_answer(N1, VENDOR, text).parts if p.name.endswith(("_0", "_8"))]
    assert found == [
        Part("nic", "0000:1a:00.0", "mlx5_0", "CX7", "MT01"),
        Part("nvswitch", "0000:05:00.0", "NVSwitch mlx5_8", "CX7", "MT9"),
    ]


def test_what_a_tool_cannot_read_is_named() -> None:
    found = parse_answer(N1, VENDOR, answer(dmi="sh: dmidecode: not found", dmi_status=127, gpu="No devices were found", gpu_status=6))
    assert [p.kind for p in found.parts] == ["nic", "nvme"]
    assert dict(found.missing) == {
        "system, baseboard, chassis, cpu, dimm": "dmidecode: exit status 127: sh: dmidecode: not found",
        "gpu": "nvidia-smi: exit status 6: No devices were found",
    }


@pytest.mark.parametrize("text", ["", "sudo: a password is required", answer()[: len(answer()) // 2]])
def test_half_an_answer_is_no_answer(text: str) -> None:
    found = parse_answer(N1, VENDOR, text)
    assert found.parts == ()
    assert "reports no parts" in found.problem


def test_the_script_runs_on_this_machine() -> None:
    done = subprocess.run(["sh", "-c", module.script(VENDOR)], check=False, capture_output=True, text=True, timeout=60)
    assert parse_answer(N1, VENDOR, done.stdout).problem == ""


def test_disks_have_their_own_names_and_one_on_a_network_is_no_part_of_the_node(tmp_path: Path) -> None:
    """All nodes have the same serial of it, and all controllers of a fabric the same device."""
    for name, transport, device in (
        ("nvme0", "pcie", "0000:01:00.0"),
        ("nvme1", "tcp", "ctl"),
        ("nvme2", "rdma", "ctl"),
        ("nvme3", "", "0000:02:00.0"),
    ):
        folder = tmp_path / "sys/class/nvme" / name
        folder.mkdir(parents=True)
        (tmp_path / device).mkdir(exist_ok=True)
        (folder / "device").symlink_to(tmp_path / device)
        for file, text in {"serial": f"S{name}", "model": "M", "transport": transport}.items():
            (folder / file).write_text(f"{text}\n" if text else "")
    for disk in ("nvme0/nvme0n1", "nvme0/nvme0n2", "nvme0/ng0n1", "nvme0/hwmon3", "nvme3/nvme10c65n1"):
        (tmp_path / "sys/class/nvme" / disk).mkdir()
    (tmp_path / "sys/class/nvme/nvme3/transport").unlink()
    done = subprocess.run(
        ["sh", "-c", module.script(VENDOR).replace("/sys/", f"{tmp_path}/sys/")], check=False, capture_output=True, text=True, timeout=60
    )
    found = [p for p in parse_answer(N1, VENDOR, done.stdout).parts if p.kind == "nvme"]
    assert found == [
        Part("nvme", "0000:01:00.0", "nvme0 (nvme0n1, nvme0n2)", "M", "Snvme0"),
        Part("nvme", "0000:02:00.0", "nvme3 (nvme10n1)", "M", "Snvme3"),
    ]


class FakeClient:
    """One answer, one error, or nothing in time."""

    def __init__(self, text: str = "", error: TransportError | None = None, wait_s: float = 0) -> None:
        self.text, self.error, self.wait_s = text, error, wait_s

    async def connect(self, _connection: object, _password: str) -> FakeClient:
        if self.error:
            raise self.error
        return self

    async def run(self, _argv: object, _stdin: bytes, _limit: int) -> RemoteResult:
        await asyncio.sleep(self.wait_s)
        return RemoteResult(0, self.text.encode(), b"")

    def close(self) -> None:
        return


@pytest.mark.parametrize(
    ("client", "problem"),
    [
        (FakeClient(answer()), ""),
        (FakeClient(error=TransportError(TransportFailure.UNREACHABLE, "No route to host")), "No route to host"),
        (FakeClient(wait_s=5), "no answer within 0.2 s"),
    ],
)
def test_reading(client: Any, problem: str) -> None:
    found = asyncio.run(read_parts(client, node(N1), 0.2))
    assert found.problem == problem
    assert bool(found.parts) is not bool(problem)


def test_a_node_without_ssh_is_named() -> None:
    local = replace(node(N1), connection=replace(node(N1).connection, kind="local"))
    (found,) = read_all_parts([local], ())
    assert found.problem == "ansible_connection is local: parts are read by SSH only"


@pytest.fixture
def store(tmp_path: Path) -> Any:
    with Store.open(f"sqlite:///{tmp_path / 'clusterctl.db'}") as opened:
        opened.register([node(N1), node("r12-n02")])
        yield opened


def test_a_replaced_part_is_named_with_the_run(store: Store) -> None:
    assert record_parts(store, "run-1", [NodeParts(N1, (GPU, NIC))]) == ()
    assert record_parts(store, "run-2", [NodeParts(N1, (GPU, NIC))]) == ()
    (replaced,) = record_parts(store, "run-3", [NodeParts(N1, (replace(GPU, serial="B"), NIC))])  # its other parts are the same
    assert (replaced.node, replaced.text) == (N1, "GPU 3: serial A -> B since run run-3")
    rows = [(r.part.name, r.part.serial, r.first_run, r.ended_run) for r in store.parts([N1])]
    assert rows == [("GPU 3", "A", "run-1", "run-3"), ("GPU 3", "B", "run-3", ""), ("mlx5_0", "MT1", "run-1", "")]
    assert store.parts(["r12-n02"]) == ()


def test_a_part_that_is_not_seen_stays_and_one_that_returns_is_the_same(store: Store) -> None:
    record_parts(store, "run-1", [NodeParts(N1, (GPU, NIC))])
    assert record_parts(store, "run-2", [NodeParts(N1, (NIC,)), NodeParts("r12-n02", problem="down")]) == ()
    assert record_parts(store, "run-3", [NodeParts(N1, (replace(GPU, name="GPU 2"),))]) == ()
    assert [(r.part.name, r.first_run, r.ended_run) for r in store.parts([N1])] == [("GPU 2", "run-1", ""), ("mlx5_0", "run-1", "")]


def test_the_first_serial_put_back_is_a_replacement_again(store: Store) -> None:
    for run, serial in (("run-1", "A"), ("run-2", "B"), ("run-3", "A")):
        record_parts(store, run, [NodeParts(N1, (replace(GPU, serial=serial),))])
    assert [(r.part.serial, r.first_run, r.ended_run) for r in store.parts([N1])] == [
        ("A", "run-1", "run-2"),
        ("B", "run-2", "run-3"),
        ("A", "run-3", ""),
    ]


SYSTEM = Part("system", "", "system", "XE9680", "S1")
TRAY_GPU = Part("gpu", "0008:01:00.0", "GPU 0", "GB200", "X")


@pytest.mark.parametrize(
    ("now", "why"),
    [
        ((replace(SYSTEM, serial="S2"), NIC), "system serial S1 -> S2"),
        ((TRAY_GPU,), "none of its recorded parts is left"),
        ((replace(GPU, serial="B"), TRAY_GPU), "none of its recorded parts is left"),
    ],
)
def test_another_machine_under_the_same_name_is_noticed(store: Store, now: tuple[Part, ...], why: str) -> None:
    record_parts(store, "run-1", [NodeParts(N1, (SYSTEM, GPU, NIC))])
    first = record_parts(store, "run-2", [NodeParts(N1, now)])[0]
    assert first.text == f"another machine than before, since run run-2: {why}"
    present = [r.part for r in store.parts([N1]) if not r.ended_run]
    assert set(present) == set(now), "what went with the first machine has ended"
    assert record_parts(store, "run-3", [NodeParts(N1, now)]) == ()


@pytest.mark.parametrize("now", [(), (SYSTEM,), (SYSTEM, replace(GPU, serial="B"), TRAY_GPU)])
def test_the_same_machine_with_other_parts_is_no_other(store: Store, now: tuple[Part, ...]) -> None:
    record_parts(store, "run-1", [NodeParts(N1, (SYSTEM, GPU, NIC))])
    assert not any(isinstance(n, OtherMachine) for n in record_parts(store, "run-2", [NodeParts(N1, now)]))


def test_a_node_with_parts_can_be_forgotten(store: Store) -> None:
    record_parts(store, "run-1", [NodeParts(N1, (GPU,))])
    store.forget([N1])
    assert store.parts([N1]) == ()


def test_text_that_no_database_takes_is_escaped(store: Store) -> None:
    record_parts(store, "run-1", [NodeParts(N1, (replace(GPU, serial="A\x00\udcff"),))])
    assert record_parts(store, "run-2", [NodeParts(N1, (replace(GPU, serial="A\x00\udcff"),))]) == ()
    assert len(store.parts([N1])) == 1


def test_views(store: Store, capsys: pytest.CaptureFixture[str]) -> None:
    for run, serial in (("run-1", "A"), ("run-2", "B")):
        record_parts(store, run, [NodeParts(N1, (replace(GPU, serial=serial),))])
    show_parts([N1, "r12-n02"], store.parts([N1, "r12-n02"]), "table")
    text = capsys.readouterr().out
    assert "serial A -> B since run run-2" in text
    assert text.count("GPU 3") == 1
    assert "r12-n02: no part is recorded; --read queries the node" in text
    show_parts([N1], store.parts([N1]), "json")
    assert '"before": [\n            {\n              "serial": "A"' in capsys.readouterr().out
    show_unread([NodeParts(N1, problem="down"), NodeParts("r12-n02", missing=(("gpu", "no tool"),))])
    assert capsys.readouterr().err.splitlines() == [f"{N1}: parts not read: down", "r12-n02: gpu not read: no tool"]


def test_provision_records_and_names_what_was_replaced(tmp_path: Path) -> None:
    world = World(tmp_path, names=(N1,))
    world.bad = {N1: {"kernel"}}
    world.parts = {N1: [GPU]}
    world.run()
    world.bad, world.parts = {N1: {"kernel"}}, {N1: [replace(GPU, serial="B")]}
    with Store.open(world.url) as store:
        store.transition(N1, world.states()[N1].DRAINED, run_id="", operator="ada", reason="swap")
    result = world.run()
    told = [p.text for p in world.progress if hasattr(p, "text")]
    assert f"{N1}: GPU 3: serial A -> B since run {result.run_id}" in told
