from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_nccl as module
from clusterctl_validators.finding import GOOD, Finding
from support.checks import run_checks, write_files
from support.gpu_node import DPKG, declared, dpkg

if TYPE_CHECKING:
    from pathlib import Path

CONF = (
    "# Written by clusterctl\nNCCL_IB_HCA==mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7\n"
    "NCCL_IB_PCI_RELAXED_ORDERING=1\nNCCL_IGNORE_CPU_AFFINITY=1\n"
)
FILES = {module.CONF: CONF, "/usr/lib/x86_64-linux-gnu/libnccl.so.2.28.9": "", "/etc/environment": "PATH=/usr/bin\n"}
PACKAGES = declared("nccl")["nccl_packages"]


def check(
    root: Path, *, files: dict[str, str | None] | None = None, packages: str = "", mode: str = "root 644", **changes: Any
) -> dict[str, Finding]:
    present = {path: text for path, text in {**FILES, **(files or {})}.items() if text is not None}
    outputs = {DPKG: packages or dpkg(PACKAGES), f"stat -c %U %a {module.CONF}": mode + "\n"}
    return run_checks(module, declared("nccl", **changes), write_files(root, present), outputs)


def bad(findings: dict[str, Finding]) -> dict[str, str]:
    return {k: f.found or f.reason for k, f in findings.items() if f.outcome not in GOOD}


def test_a_node_as_declared(tmp_path: Path) -> None:
    findings = check(tmp_path)
    assert bad(findings) == {}
    assert findings["nccl.conf[NCCL_IB_HCA]"].found.startswith("=mlx5_0,")


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (CONF.replace("RELAXED_ORDERING=1", "RELAXED_ORDERING=0"), {"nccl.conf[NCCL_IB_PCI_RELAXED_ORDERING]": "0"}),
        (CONF.replace(",mlx5_7", ",mlx5_6"), {"nccl.conf[NCCL_IB_HCA]": "=mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_6"}),
        (CONF + "NCCL_DEBUG=INFO\n", {"nccl.conf[NCCL_DEBUG]": "INFO"}),
        (CONF.replace("NCCL_IGNORE_CPU_AFFINITY=1\n", ""), {"nccl.conf[NCCL_IGNORE_CPU_AFFINITY]": "not set"}),
    ],
)
def test_changed_settings(text: str, found: dict[str, str], tmp_path: Path) -> None:
    assert bad(check(tmp_path, files={module.CONF: text})) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# by hand\nNCCL_IGNORE_CPU_AFFINITY=0\n" + CONF, {"nccl.conf[NCCL_IGNORE_CPU_AFFINITY]": "0"}),
        (CONF + "NCCL_IGNORE_CPU_AFFINITY=0\n", {}),
        (CONF.replace("AFFINITY=1", "AFFINITY = 1"), {"nccl.conf[NCCL_IGNORE_CPU_AFFINITY]": "not set"}),
        (CONF.replace("AFFINITY=1", "AFFINITY= 1 "), {}),
        (CONF.replace("==mlx5_0,", "= =mlx5_0,"), {"nccl.conf[NCCL_IB_HCA]": " =mlx5_0,mlx5_1,mlx5_2,mlx5_3,mlx5_4,mlx5_5,mlx5_6,mlx5_7"}),
        (CONF + "  # NCCL_DEBUG=INFO\n", {}),
    ],
    ids=["first_of_two", "second_of_two", "blank_in_the_name", "blanks_around_a_number", "blank_before_names", "indented_comment"],
)
def test_a_file_is_read_as_nccl_reads_it(text: str, found: dict[str, str], tmp_path: Path) -> None:
    """NVIDIA/nccl v2.30.7-1, src/misc/param.cc setEnvFile: setenv without overwriting, and nothing is stripped."""
    assert bad(check(tmp_path, files={module.CONF: text})) == found


def test_a_file_that_users_cannot_read(tmp_path: Path) -> None:
    assert bad(check(tmp_path, mode="root 600")) == {"nccl.conf.mode": "root 600"}


def test_no_settings_means_no_file(tmp_path: Path) -> None:
    assert bad(check(tmp_path, nccl_settings={})) == {"nccl.conf": "present"}
    assert bad(check(tmp_path / "gone", files={module.CONF: None}, nccl_settings={})) == {}


def test_an_absent_file_names_every_setting(tmp_path: Path) -> None:
    faults = bad(check(tmp_path, files={module.CONF: None}))
    assert faults["nccl.conf[NCCL_IB_HCA]"] == "not set"


@pytest.mark.parametrize(
    ("path", "line"),
    [
        ("/etc/environment", 'NCCL_IB_TIMEOUT="22"'),
        ("/etc/profile.d/nccl.sh", "export NCCL_IB_HCA=mlx5_0"),
        ("/etc/environment.d/50-nccl.conf", "NCCL_DEBUG=INFO"),
    ],
)
def test_the_environment_overrides_the_file(path: str, line: str, tmp_path: Path) -> None:
    faults = bad(check(tmp_path, files={path: line + "\n"}))
    assert set(faults) == {"nccl.environment"}
    assert path in faults["nccl.environment"]


def test_the_environment_may_have_the_declared_value(tmp_path: Path) -> None:
    same = "#export NCCL_DEBUG=INFO\nexport NCCL_IB_PCI_RELAXED_ORDERING=1\n"
    assert bad(check(tmp_path, files={"/etc/profile.d/nccl.sh": same})) == {}


def test_a_second_copy_of_the_library(tmp_path: Path) -> None:
    finding = check(tmp_path, files={"/usr/local/cuda-13.0/lib64/libnccl.so.2.26.2": ""})["nccl.library"]
    assert finding.found == "2.26.2, 2.28.9"
    assert "/usr/local/cuda-13.0/lib64/libnccl.so.2.26.2" in finding.hint


def test_a_package_without_its_library(tmp_path: Path) -> None:
    assert bad(check(tmp_path, files={"/usr/lib/x86_64-linux-gnu/libnccl.so.2.28.9": None})) == {"nccl.library": "absent"}


def test_packages(tmp_path: Path) -> None:
    packages = dpkg(PACKAGES, libnccl2=("2.30.4-1+cuda13.2", "install"))
    assert bad(check(tmp_path, packages=packages)) == {
        "nccl.package[libnccl2].version": "2.30.4-1+cuda13.2",
        "nccl.package[libnccl2].held": "not held",
    }
    assert bad(check(tmp_path / "unmanaged", packages="x\t1\tinstall\tinstalled\n", nccl_packages=[], nccl_version="")) == {}


def test_the_topology_file(tmp_path: Path) -> None:
    path = "/opt/site/topo.xml"
    conf = CONF + f"NCCL_TOPO_FILE={path}\n"
    good: dict[str, str | None] = {module.CONF: conf, path: '<system version="1"></system>\n'}
    assert bad(check(tmp_path, files=good, nccl_topology_file=path)) == {}
    for number, text in enumerate((None, "", "<html/>")):
        faults = bad(check(tmp_path / str(number), files={**good, path: text}, nccl_topology_file=path))
        assert set(faults) == {"nccl.topology_file"}


PLUGIN = "/usr/local/lib/libnccl-net.so"


@pytest.mark.parametrize(
    ("files", "settings", "found"),
    [
        ({PLUGIN: ""}, {}, PLUGIN),
        ({"/etc/ld.so.conf.d/x.conf": "# ours\n/opt/x/lib\n", "/opt/x/lib/libnccl-tuner.so": ""}, {}, "/opt/x/lib/libnccl-tuner.so"),
        (
            {"/usr/lib/x86_64-linux-gnu/libnccl-env.so": "", "/usr/local/cuda-13/lib64/libnccl-profiler.so": ""},
            {},
            "libnccl-env.so, /usr/local",
        ),
        ({PLUGIN: ""}, {"NCCL_NET_PLUGIN": "none"}, ""),
        # Not where the loader looks: a job names it itself, as HPC-X does.
        ({"/opt/hpcx/nccl_rdma_sharp_plugin/lib/libnccl-net.so": ""}, {}, ""),
        ({"/usr/lib/x86_64-linux-gnu/libnccl.so.2": ""}, {}, ""),
    ],
)
def test_plugins_that_nothing_declares(files: dict[str, str | None], settings: dict[str, str], found: str, tmp_path: Path) -> None:
    """NCCL loads them by their names alone (NVIDIA/nccl, src/plugin)."""
    conf = CONF + "".join(f"{name}={value}\n" for name, value in settings.items())
    node = check(tmp_path, files={module.CONF: conf, **files}, nccl_settings={**declared("nccl")["nccl_settings"], **settings})
    assert bad(node) == {}
    plugins = node["nccl.plugins"]
    assert (plugins.outcome.value, found in plugins.found) == ("warn" if found else "pass", True)


@pytest.mark.parametrize(
    ("path", "line", "found"),
    [
        ("/etc/environment", "CUDA_VISIBLE_DEVICES=0,1", "CUDA_VISIBLE_DEVICES=0,1"),
        ("/etc/profile.d/x.sh", "export UCX_TLS=tcp", "UCX_TLS=tcp"),
        ("/etc/profile.d/x.sh", "export OMPI_MCA_btl=tcp,self", "OMPI_MCA_btl=tcp,self"),
        ("/etc/environment", "OMP_NUM_THREADS=1", "OMP_NUM_THREADS=1"),
        ("/etc/security/pam_env.conf", "LD_PRELOAD DEFAULT=/opt/x.so", "LD_PRELOAD=/opt/x.so"),
        ("/etc/systemd/system.conf.d/x.conf", 'DefaultEnvironment="CUDA_LAUNCH_BLOCKING=1"', "CUDA_LAUNCH_BLOCKING=1"),
        ("/etc/profile.d/90-clusterctl-cuda.sh", "export CUDA_HOME=/usr/local/cuda PATH=/usr/local/cuda/bin:$PATH", ""),
        ("/etc/profile.d/lang.sh", "export LANG=C.UTF-8", ""),
        ("/etc/environment", "# UCX_TLS=tcp", ""),
    ],
)
def test_variables_of_other_libraries(path: str, line: str, found: str, tmp_path: Path) -> None:
    node = check(tmp_path, files={path: line + "\n"})
    assert bad(node) == {}
    other = node["nccl.other_environment"]
    assert (other.outcome.value, found in other.found) == ("warn" if found else "pass", True)


@pytest.mark.parametrize(
    ("path", "line", "found"),
    [
        (module._ROOTS_CONF, "NCCL_P2P_DISABLE=1", f"{module._ROOTS_CONF}: NCCL_P2P_DISABLE=1"),
        ("/etc/security/pam_env.conf", "NCCL_DEBUG OVERRIDE=INFO", "/etc/security/pam_env.conf: NCCL_DEBUG=INFO"),
        ("/etc/systemd/system.conf", "DefaultEnvironment=NCCL_IB_DISABLE=1", "/etc/systemd/system.conf: NCCL_IB_DISABLE=1"),
    ],
)
def test_other_places_of_nccls_settings(path: str, line: str, found: str, tmp_path: Path) -> None:
    assert bad(check(tmp_path, files={path: line + "\n"})) == {"nccl.environment": found}
