"""Every simulated tool answers in the shape of the real one: nothing in its answer that a recording of the same tool lacks."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_lab.simulator import dcgmi, machine, mlnx_qos, nic_settings, pseudo_files, sysfs_pci, sysfs_rdma
from support import shapes
from support.lab_machine import LabMachine, lab_machine
from support.plain_yaml import load_yaml
from support.recorded import RECORDED
from support.roles import ROOT

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PCI = machine.THIS.hca_addresses[0]
PACKAGES = ROOT / "lab" / "clusterctl_lab" / "packages.yml"


@dataclass(frozen=True)
class Case:
    """One command line of a simulated tool.

    Attributes:
        recordings: of the same tool, below ../shared; several show more values of the same format.
        version: of the package that contains the command.
    """

    module: str
    words: str
    recordings: tuple[str, ...]
    shape: Callable[[str], frozenset[Any]]
    version: str = "580.126.20"

    @property
    def tool(self) -> str:
        return self.words.split()[0]


_NCCL = ("recorded/nccl-tests/azhpc-h200-8gpu-allreduce-8G.txt", "recorded/nccl-tests/oci-oke-b4.8-a100-slurm.txt")
_NV_ROWS = tuple(f"reality/outputs/mlxconfig/e-query-{name}.txt" for name in ("column-formats", "array-range", "array-elements"))
_NV_ROWS += ("reality/outputs/mlxconfig/e-query-mixed-enum-and-number.txt",)
_DIAG = ("recorded/dcgmi/issue124-diag-4.4.2-a10g-pass.txt",)
_NVBANDWIDTH = ("recorded/nvbandwidth/sparecores-gcp-a3-highgpu-8g.json",)
CASES = [
    Case("ibstat", "ibstat", ("recorded/ibstat/gpud-ibstat.47.0.h100.all.active.0.txt",), shapes.lines),
    Case("ibstatus", "ibstatus", ("recorded/ibstatus/gpud-ibstatus.39.0.a100.all.active.0.txt",), shapes.lines),
    Case("sminfo", "sminfo", ("recorded/_from-recipes/ibsim/sminfo.txt",), shapes.lines),
    Case("show_gids", "show_gids", ("reality/outputs/show_gids/connectx5-rocev2-ipv4.txt",), shapes.first_words),
    Case(
        "nvidia_smi",
        "nvidia-smi nvlink -s",
        ("recorded/nvidia-smi/capture-h100-80gb-hbm3-590.48.01/capabilities-nvlink-s.txt",),
        shapes.lines,
    ),
    Case("nvidia_smi", "nvidia-smi topo -m", ("reality/outputs/nvidia-smi/topo-m-8xh200-8nic-570.211.01.txt",), shapes.first_words),
    Case("nvidia_smi", "nvidia-smi", ("recorded/nvidia-smi/gpud-nvidia-smi.550.90.07.out.0.valid.txt",), shapes.headers),
    Case("nvidia_smi", "nvidia-smi -q -x", ("recorded/nvidia-smi/sparecores/gcp-a3-highgpu-8g.xml",), shapes.xml_paths),
    Case("flint", f"flint -d {PCI} q", ("reality/outputs/flint/connectx7-28.43.1014.txt",), shapes.lines),
    Case("nv_config", f"mlxconfig -d {PCI} -e query", _NV_ROWS, shapes.parameter_rows),
    Case("ofed_info", "ofed_info -s", ("reality/outputs/ofed_info/doca-3.2.1.txt",), shapes.first_words, "25.10.OFED.25.10.1.7.1"),
    Case("mlnx_qos", "mlnx_qos -i ens10np0", ("reality/outputs/mlnx_qos/connectx5-dscp-pfc3-dcbx-firmware.txt",), shapes.lines),
    Case("nvbandwidth", "nvbandwidth -j -t host_to_device_memcpy_ce", _NVBANDWIDTH, shapes.json_paths),
    Case(
        "nccl_tests",
        "all_reduce_perf -b 1G -e 8G -f 2 -g 8",
        _NCCL,
        shapes.headers,
    ),
    Case("dcgmi", "dcgmi discovery -l", ("reality/outputs/dcgmi/discovery-l-4.6.1-1xL4.txt",), shapes.first_words),
    # No document of DCGM 4 is public, only its table.
    Case("dcgmi", "dcgmi diag -r 2", _DIAG, shapes.headers),
    Case(
        "fabricmanager",
        "nv-fabricmanager --version",
        ("reality/outputs/fabricmanager/nv-fabricmanager-version-610.57.04.txt",),
        shapes.lines,
    ),
]
# Commands without a case, and why.
OTHERS = {
    "cma_roce_mode": "no recording is public",
    "cma_roce_tos": "no recording is public",
    "ethtool": "`make cross-check` compares it with the real program",
    "iblinkinfo": "`make cross-check` compares it with the real program",
    "smpquery": "tests/unit/lab/test_subnet_key.py compares it with recorded outputs of every protection level of an M_Key",
    "saquery": "tests/unit/lab/test_subnet_key.py compares it with recorded outputs of every protection level of an M_Key",
    "perfquery": "`make cross-check` compares it with the real program",
    "ibv_devinfo": "`make cross-check` compares it with the real program",
    "lldpctl": "tests/unit/tools/test_lldpctl.py reads the recording with the same parser",
    "dkms": "tests/unit/roles/test_ofed_dkms.py reads the recording with the same parser",
    "nvidia-imex-ctl": "test_imex.py: its JSON has the keys of the real tool",
    "mpirun": "its output is that of the program that it starts",
    "orted": "prints nothing; mpirun shows the output of what it starts",
    "nvcc": "no recording is public",
    "nvidia-ctk": "no recording is public",
    "update-grub": "of the distribution; nothing reads its output",
    "grub-mkconfig": "of the distribution; nothing reads its output",
    "grub-editenv": "of the distribution; test_grub_env.py writes and reads its environment block",
    "grub-reboot": "of the distribution: prints nothing",
    "grub-set-default": "of the distribution: prints nothing",
    "update-initramfs": "of the distribution; nothing reads its output",
    "prometheus-node-exporter": "serves metrics; its metrics are tested with the parser of Prometheus",
    "dcgm-exporter": "serves metrics; its metrics are tested with the parser of Prometheus",
    "nv-hostengine": "a daemon: prints nothing",
    "nvidia-imex": "a daemon: prints nothing",
    "nvidia-persistenced": "a daemon: prints nothing",
    "rasdaemon": "a daemon: its database is read by the query of the validator (test_crash_evidence.py)",
    "kdump-config": "nothing reads its output; what it changes is /sys/kernel/kexec_crash_loaded",
    "kdump-tools": "nothing reads its output; what it changes is /sys/kernel/kexec_crash_loaded",
    "nvidia-fabricmanager-start.sh": "prints two lines into the journal; nothing reads them",
    "nvlsm": "a daemon: prints nothing",
    "gpu_burn": "test_gpu_burn.py and test_gpu_results.py read both with the same parser; the recording is of an older one, on eight GPUs at once",
    "ubergemm": "one line of it is public, in test_ubergemm.py",
    "ib_write_bw": "needs two sides; test_perftest.py parses every format of its table",
}
SAME_PROGRAM = {
    "mstconfig": "mlxconfig",
    "mstflint": "flint",
    "ib_read_bw": "ib_write_bw",
    "ib_send_bw": "ib_write_bw",
    "ib_write_lat": "ib_write_bw",
    "ib_send_lat": "ib_write_bw",
    "ib_read_lat": "ib_write_bw",
    "ib_write_bw_cuda": "ib_write_bw",
}
SAME_PROGRAM |= dict.fromkeys(("all_gather_perf", "alltoall_perf", "reduce_scatter_perf", "sendrecv_perf"), "all_reduce_perf")


@pytest.fixture
def node(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LabMachine:
    made = lab_machine(tmp_path, monkeypatch)
    made.gpu_stack()
    pseudo_files.write_files(str(tmp_path), sysfs_rdma.files("n1", {}) | sysfs_pci.files(set()))
    pseudo_files.make_links(str(tmp_path), sysfs_rdma.links() | sysfs_pci.links(set()))
    monkeypatch.setattr(dcgmi, "_hostengine", lambda: True)
    monkeypatch.setattr(nic_settings, "FOLDER", str(tmp_path / "nics"))
    return made


def theirs(case: Case) -> frozenset[Any]:
    found: frozenset[Any] = frozenset()
    for name in case.recordings:
        path = RECORDED.parent / name
        if not path.exists():
            pytest.skip(f"the recording {name} is missing in ../shared")
        found |= case.shape(path.read_text(errors="replace"))
    return found


@pytest.mark.parametrize("case", CASES, ids=lambda c: c.words.replace(" ", "_"))
def test_an_answer_has_the_shape_of_the_recorded_one(
    case: Case, node: LabMachine, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    module = importlib.import_module(f"clusterctl_lab.simulator.{case.module}")
    if hasattr(module, "ROOT"):
        monkeypatch.setattr(module, "ROOT", str(node.root / "class/infiniband"))
    if module is mlnx_qos:
        assert mlnx_qos.main(["mlnx_qos", "-i", "ens10np0", "--trust", "dscp"], "") == 0
        capsys.readouterr()
    assert module.main(case.words.split(), case.version) == 0
    ours = case.shape(capsys.readouterr().out)
    assert ours, "an empty answer has no shape"
    assert ours - theirs(case) == frozenset()


def test_a_deviating_answer_is_noticed() -> None:
    real = "CA 'mlx5_0'\n\tCA type: MT4129\n\tState: Active\n"
    assert shapes.lines(real.replace("mlx5_0", "mlx5_7").replace("Active", "Down").replace("MT4129", "MT4131")) - shapes.lines(real) == {
        "CA 'mlx5_7'"
    }
    assert shapes.lines(real.replace("State:", "Link state:")) - shapes.lines(real) == {"Link state:"}
    assert shapes.json_paths('{"a": [{"b1": 1}]}') == {"/a", "/a/bN"}
    assert shapes.parameter_rows("* SRIOV_EN  False(0)  True(1)") == {("*", "enum", "enum")}
    assert shapes.parameter_rows("  NUM_OF_VFS  16") == {("", "number")}


def test_every_command_of_the_lab_is_compared_or_says_why_not() -> None:
    packages = load_yaml(PACKAGES.read_text()).values()
    commands = {path.rpartition("/")[2] for package in packages for path in (package or {}).get("commands") or {}}
    compared = {case.tool for case in CASES}
    assert {SAME_PROGRAM.get(name, name) for name in commands} - compared == set(OTHERS)
