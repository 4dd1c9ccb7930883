from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from clusterctl_validators import test_cuda as module
from clusterctl_validators.finding import GOOD, Finding, Outcome
from clusterctl_validators.probe import CommandResult
from support.checks import run_checks, write_files
from support.gpu_node import DPKG, declared, dpkg

if TYPE_CHECKING:
    from pathlib import Path

REPOSITORY = {"uris": ["https://repo.site.example/cuda"], "suites": ["./"], "signed_by": "/usr/share/keyrings/cuda.asc", "baseurl": None}
PACKAGES = declared("cuda")["cuda_packages"]
FILES = {
    "/usr/local/cuda-13.0/bin/nvcc": "",
    "/usr/local/cuda-12.8/bin/nvcc": "",
    "/proc/driver/nvidia/version": "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.126.20  Release Build\n",
    module.PROFILE_FILE: '# Written by clusterctl\nexport CUDA_HOME=/usr/local/cuda\nexport PATH="$CUDA_HOME/bin:$PATH"\n',
    module.LINKER_FILE: "# Written by clusterctl\n/usr/local/cuda/lib64\n",
    module.APT_SOURCE: "Types: deb\nURIs: https://repo.site.example/cuda\nSuites: ./\n",
}
ALTERNATIVES = (
    "cuda - {} mode\n  link best version is /usr/local/cuda-13.0\n  link currently points to {}\n  link cuda is /usr/local/cuda\n"
)
SEARCHED = "/usr/local/cuda/lib64: (from /etc/ld.so.conf.d/90-clusterctl-cuda.conf:2)\n\tlibcudart.so.13 -> libcudart.so.13.0.96\n/lib: (from <builtin>:0)\n"
READLINK = "readlink -f /usr/local/cuda/lib64 /usr/local/cuda/lib64"
REAL = "/usr/local/cuda-13.0/targets/x86_64-linux/lib\n"


def spec(**changes: Any) -> dict[str, Any]:
    return declared("cuda", **{"cuda_driver_version": "580.126.20", "cuda_repository": REPOSITORY, **changes})


def commands() -> dict[str, CommandResult | str]:
    return {
        DPKG: dpkg(PACKAGES),
        "/usr/local/cuda-13.0/bin/nvcc --version": "nvcc: NVIDIA (R) Cuda compiler driver\nCuda compilation tools, release 13.0, V13.0.88\n",
        "/usr/local/cuda-12.8/bin/nvcc --version": "Cuda compilation tools, release 12.8, V12.8.93\n",
        "readlink -f /usr/local/cuda": "/usr/local/cuda-13.0\n",
        "update-alternatives --display cuda": ALTERNATIVES.format("manual", "/usr/local/cuda-13.0"),
        " ".join(module.LOGIN): "/usr/local/cuda/bin/nvcc\n",
        " ".join(module.SEARCHED): SEARCHED,
        READLINK: REAL * 2,
        **{f"stat -c %U %a {path}": "root 644\n" for path in (*FILES, module.COMPAT_FILE)},
    }


def check(
    root: Path,
    outputs: dict[str, CommandResult | str] | None = None,
    *,
    variables: dict[str, Any] | None = None,
    files: dict[str, str | None] | None = None,
) -> dict[str, Finding]:
    """Findings of a node that differs from the declared state by `outputs` and `files`; None removes a file."""
    present = {path: text for path, text in {**FILES, **(files or {})}.items() if text is not None}
    return run_checks(module, variables or spec(), write_files(root, present), {**commands(), **(outputs or {})})


def bad(findings: dict[str, Finding]) -> dict[str, str]:
    return {k.removeprefix("cuda."): f.found or f.reason for k, f in findings.items() if f.outcome not in GOOD}


def test_a_node_as_declared_passes(tmp_path: Path) -> None:
    findings = check(tmp_path)
    assert bad(findings) == {}
    assert len([f for f in findings.values() if f.outcome is Outcome.PASS]) > 15


@pytest.mark.parametrize(
    ("outputs", "found"),
    [
        (
            {"/usr/local/cuda-13.0/bin/nvcc --version": "Cuda compilation tools, release 12.9, V12.9.86\n"},
            {"toolkit[13.0].compiler": "12.9"},
        ),
        ({"/usr/local/cuda-13.0/bin/nvcc --version": CommandResult(127, stderr="no libc")}, {"toolkit[13.0].compiler": "no release"}),
        ({"readlink -f /usr/local/cuda": "/usr/local/cuda-12.8\n"}, {"default.running": "/usr/local/cuda-12.8"}),
        (
            {"update-alternatives --display cuda": ALTERNATIVES.format("auto", "/usr/local/cuda-13.0")},
            {"default.persisted": "/usr/local/cuda-13.0 (auto)"},
        ),
        ({"update-alternatives --display cuda": CommandResult(2, stderr="no alternatives")}, {"default.persisted": "no alternative"}),
        (
            {"update-alternatives --display cuda": ALTERNATIVES.format("manual", "/usr/local/cuda-12.8")},
            {"default.persisted": "/usr/local/cuda-12.8 (manual)"},
        ),
        (
            # Right by accident: in automatic mode, and the link bypasses the alternative.
            {
                "update-alternatives --display cuda": ALTERNATIVES.format("auto", "/usr/local/cuda-13.0"),
                "readlink -f /usr/local/cuda": "/usr/local/cuda-12.8\n",
            },
            {"default.persisted": "/usr/local/cuda-13.0 (auto)", "default.running": "/usr/local/cuda-12.8"},
        ),
        ({"readlink -f /usr/local/cuda": "\n"}, {"default.running": ""}),
        (
            {"update-alternatives --display cuda": CommandResult(None, error="update-alternatives: No such file or directory")},
            {"default.persisted": "No such file"},
        ),
        ({" ".join(module.LOGIN): "/opt/old/bin/nvcc\n"}, {"profile.running": "/opt/old/bin/nvcc"}),
        ({" ".join(module.LOGIN): CommandResult(1)}, {"profile.running": "not found"}),
        # A notice of /etc/profile.d or ~/.bashrc comes first, as hardening profiles have it.
        ({" ".join(module.LOGIN): "*** Authorized use only ***\n/opt/old/bin/nvcc\n"}, {"profile.running": "/opt/old/bin/nvcc"}),
        ({" ".join(module.LOGIN): "*** Authorized use only ***\n/usr/local/cuda/bin/nvcc\n"}, {}),
        ({" ".join(module.LOGIN): CommandResult(1, "*** Authorized use only ***\n")}, {"profile.running": "not found"}),
        ({" ".join(module.SEARCHED): "/lib: (from <builtin>:0)\n"}, {"linker.running": "not searched"}),
        ({" ".join(module.SEARCHED): CommandResult(None, error="timed out after 20 s")}, {"linker.running": "timed out"}),
        ({DPKG: dpkg(PACKAGES, cuda_toolkit_13_0=("13.0.3-1", "hold"))}, {"package[cuda-toolkit-13-0].version": "13.0.3-1"}),
        ({DPKG: dpkg(PACKAGES, cuda_toolkit_12_8=("12.8.1-1", "install"))}, {"package[cuda-toolkit-12-8].held": "not held"}),
        ({f"stat -c %U %a {module.PROFILE_FILE}": "root 600\n"}, {"profile.mode": "root 600"}),
    ],
)
def test_tool_output(outputs: dict[str, CommandResult | str], found: dict[str, str], tmp_path: Path) -> None:
    faults = bad(check(tmp_path, outputs))
    assert set(faults) == set(found)
    for name, text in found.items():
        assert text in faults[name]


@pytest.mark.parametrize(
    ("files", "found"),
    [
        ({"/usr/local/cuda-12.8/bin/nvcc": None}, {"toolkit[12.8].compiler": "no /usr/local/cuda-12.8/bin/nvcc"}),
        ({module.PROFILE_FILE: None}, {"profile.present": "absent", "profile.persisted": "absent"}),
        ({module.PROFILE_FILE: "export CUDA_HOME=/opt/cuda\n"}, {"profile.persisted": "/opt/cuda"}),
        ({module.LINKER_FILE: None}, {"linker.present": "absent", "linker.persisted": "absent"}),
        ({module.COMPAT_FILE: "/usr/local/cuda-13.0/compat\n"}, {"forward_compatibility.persisted": "present"}),
        ({module.APT_SOURCE: "URIs: https://elsewhere.example/\n"}, {"repository.address": "missing"}),
        ({"/proc/driver/nvidia/version": None}, {"driver.running": "no module"}),
        ({"/proc/driver/nvidia/version": "garbage"}, {"driver.running": "garbage"}),
        (
            {"/proc/driver/nvidia/version": FILES["/proc/driver/nvidia/version"].replace("580.126.20", "575.57.08")},
            {"driver.running": "575.57.08"},
        ),
    ],
)
def test_file_content(files: dict[str, str | None], found: dict[str, str], tmp_path: Path) -> None:
    faults = bad(check(tmp_path, files=files))
    assert set(faults) == set(found)
    for name, text in found.items():
        assert text in faults[name]


def test_a_newer_driver_is_good_enough(tmp_path: Path) -> None:
    newer = {"/proc/driver/nvidia/version": FILES["/proc/driver/nvidia/version"].replace("580.126.20", "595.45.04")}
    assert bad(check(tmp_path, files=dict(newer))) == {}


def test_nvidias_path_of_the_folder_is_accepted(tmp_path: Path) -> None:
    outputs: dict[str, CommandResult | str] = {
        " ".join(module.SEARCHED): "/usr/local/cuda/targets/x86_64-linux/lib: (from /etc/ld.so.conf.d/000_cuda.conf:1)\n",
        "readlink -f /usr/local/cuda/lib64 /usr/local/cuda/targets/x86_64-linux/lib": REAL * 2,
    }
    assert bad(check(tmp_path, outputs)) == {}


def test_forward_compatibility_must_come_first(tmp_path: Path) -> None:
    variables = spec(cuda_forward_compatibility=["13.0"])
    files: dict[str, str | None] = {module.COMPAT_FILE: "# Written by clusterctl\n/usr/local/cuda-13.0/compat\n"}
    first = "/usr/local/cuda-13.0/compat: (from /etc/ld.so.conf.d/00-clusterctl-cuda-compat.conf:2)\n"
    readlink = "readlink -f /usr/local/cuda/lib64 "
    good: dict[str, CommandResult | str] = {
        " ".join(module.SEARCHED): first + SEARCHED,
        readlink + "/usr/local/cuda-13.0/compat /usr/local/cuda/lib64": f"{REAL}/usr/local/cuda-13.0/compat\n{REAL}",
    }
    assert bad(check(tmp_path, good, variables=variables, files=files)) == {}
    assert set(bad(check(tmp_path / "late", variables=variables, files=files))) == {"forward_compatibility.running"}


def test_nothing_declared_and_no_leftovers(tmp_path: Path) -> None:
    bare = spec(
        cuda_versions=[],
        cuda_packages=[],
        cuda_default="",
        cuda_driver_version="",
        cuda_repository=dict.fromkeys(REPOSITORY),
        cuda_profile=False,
        cuda_linker=False,
    )
    gone: dict[str, str | None] = dict.fromkeys(FILES)
    assert bad(check(tmp_path, variables=bare, files=gone)) == {}
    assert set(bad(check(tmp_path / "left", variables=bare))) == {"profile.persisted", "linker.persisted"}
