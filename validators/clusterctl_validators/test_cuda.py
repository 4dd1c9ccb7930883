"""CUDA toolkits: every compiler runs, the default is the declared one, shells and linker find it, now and after a login or boot."""

import re
from typing import Any, List, Mapping, Optional

from clusterctl_tools.nvidia_module import UnreadableModuleError, parse_version
from clusterctl_validators.file_mode import FileMode, read_mode
from clusterctl_validators.finding import Severity
from clusterctl_validators.pinned_packages import check_package
from clusterctl_validators.probe import Probe
from clusterctl_validators.record import Record

ROLE = "cuda"
LEFT_BY_ROLE = ("cuda.*.persisted", "cuda.repository.*", "cuda.package.held")
Spec = Mapping[str, Any]

LINK = "/usr/local/cuda"
PROFILE_FILE = "/etc/profile.d/90-clusterctl-cuda.sh"
LINKER_FILE = "/etc/ld.so.conf.d/90-clusterctl-cuda.conf"
COMPAT_FILE = "/etc/ld.so.conf.d/00-clusterctl-cuda-compat.conf"
APT_SOURCE = "/etc/apt/sources.list.d/cuda.sources"
DNF_SOURCE = "/etc/yum.repos.d/cuda.repo"
LOGIN = ["bash", "-lc", "command -v nvcc"]
SEARCHED = ["ldconfig", "-N", "-X", "-v"]
_RELEASE = re.compile(r"release (\d+\.\d+),")
_PROVISION = "run `clusterctl provision NODE`"


def _file(record: Record, probe: Probe, check: str, path: str) -> Optional[str]:
    """The text of a required file; also checks its owner and mode."""
    text = probe.read(path)
    record.ok(check + ".present", text is not None, expected=path, found=path if text is not None else "absent", hint=_PROVISION)
    if text is not None:
        mode = read_mode(probe, path)
        words = "{0.owner} {0.mode}".format(mode) if isinstance(mode, FileMode) else None
        record.equal(check + ".mode", "root 644", words, severity=Severity.MINOR, hint=_PROVISION)
    return text


def _absent(record: Record, probe: Probe, check: str, path: str) -> None:
    found = "absent" if probe.read(path) is None else "present"
    record.equal(check + ".persisted", "absent", found, hint=_PROVISION)


def _lines(text: Optional[str]) -> List[str]:
    return [line.strip() for line in (text or "").splitlines() if line.strip() and not line.startswith("#")]


def test_toolkits(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["cuda_versions"]:
        record.not_applicable("cuda.toolkit", "none is declared")
    for version in spec["cuda_versions"]:
        check = "cuda.toolkit[{}]".format(version)
        nvcc = "{}-{}/bin/nvcc".format(LINK, version)
        if not probe.glob(nvcc):
            record.equal(check + ".compiler", version, "no " + nvcc, hint=_PROVISION)
            continue
        result = probe.run([nvcc, "--version"])
        found = _RELEASE.search(result.stdout)
        if result.error or not found:
            record.could_not_run(check + ".compiler", "{}: {}".format(nvcc, result.error or "exit {}, no release".format(result.rc)))
            continue
        record.equal(check + ".compiler", version, found.group(1), hint="the folder contains another toolkit than its name states")


def test_packages(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["cuda_packages"]:
        record.not_applicable("cuda.packages", "none are declared")
    for package in spec["cuda_packages"]:
        check_package(record, probe, package, spec["cuda_hold"])


def test_default(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["cuda_default"]:
        record.not_applicable("cuda.default", "none is declared")
        return
    expected = "{}-{}".format(LINK, spec["cuda_default"])
    real = probe.run(["readlink", "-f", LINK])
    if real.error:
        record.could_not_run("cuda.default.running", real.error)
    else:
        record.equal("cuda.default.running", expected, real.stdout.strip() or "no link", hint=_PROVISION)
    display = probe.run(["update-alternatives", "--display", "cuda"])
    if display.error:
        record.could_not_run("cuda.default.persisted", display.error)
        return
    chosen = re.search(r"link currently points to (\S+)", display.stdout)
    mode = "manual" if re.search(r"\bmanual\b", display.stdout.split("\n", 1)[0]) else "auto"
    hint = "in automatic mode the next installed toolkit takes the link: " + _PROVISION
    found = "{} ({})".format(chosen.group(1), mode) if chosen else "no alternative"
    record.equal("cuda.default.persisted", expected + " (manual)", found, hint=hint)


def test_driver(spec: Spec, record: Record, probe: Probe) -> None:
    """The role checks compatibility against the declared driver, so the loaded one must not be older."""
    declared = spec["cuda_driver_version"]
    if not declared:
        record.not_applicable("cuda.driver", "no driver is declared")
        return
    text = probe.read("/proc/driver/nvidia/version")
    hint = "the role checked the toolkits against a newer driver than the loaded one: reboot the node, or correct cuda_driver_version"
    if text is None:
        record.ok("cuda.driver.running", False, expected=declared + " or later", found="no module loaded", hint=hint)
        return
    try:
        loaded = parse_version(text).version
    except UnreadableModuleError as e:
        record.could_not_run("cuda.driver.running", str(e))
        return
    record.ok("cuda.driver.running", _numbers(loaded) >= _numbers(declared), expected=declared + " or later", found=loaded, hint=hint)


def test_profile(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["cuda_profile"]:
        _absent(record, probe, "cuda.profile", PROFILE_FILE)
        return
    text = _file(record, probe, "cuda.profile", PROFILE_FILE)
    lines = _lines(text)
    good = "export CUDA_HOME=" + LINK in lines and any("$CUDA_HOME/bin:$PATH" in line for line in lines)
    record.ok("cuda.profile.persisted", good, expected="CUDA_HOME and PATH", found="; ".join(lines) or "absent", hint=_PROVISION)
    if not spec["cuda_default"]:
        record.not_applicable("cuda.profile.running", "no default toolkit is declared")
        return
    shell = probe.run(LOGIN)
    if shell.error:
        record.could_not_run("cuda.profile.running", shell.error)
        return
    # The last line: profiles may print others before it.
    found = shell.stdout.strip().rpartition("\n")[2] if shell.rc == 0 else ""
    record.equal("cuda.profile.running", LINK + "/bin/nvcc", found or "not found", hint="another nvcc comes first in the PATH of a login")


def test_linker(spec: Spec, record: Record, probe: Probe) -> None:
    if not spec["cuda_linker"]:
        _absent(record, probe, "cuda.linker", LINKER_FILE)
        return
    lines = _lines(_file(record, probe, "cuda.linker", LINKER_FILE))
    record.equal("cuda.linker.persisted", LINK + "/lib64", " ".join(lines) or "absent", hint=_PROVISION)
    if not spec["cuda_default"]:
        record.not_applicable("cuda.linker.running", "no default toolkit is declared")
        return
    searched = _searched(record, probe, "cuda.linker.running")
    if searched is not None:
        ours = [path for path in searched if path.startswith(LINK)]
        # NVIDIA's packages list the same folder under another path, and the linker lists each folder once.
        real = probe.run(["readlink", "-f", LINK + "/lib64", *ours]).stdout.split()
        found = "searched" if real and real[0] in real[1:] else "not searched"
        record.equal("cuda.linker.running", "searched", found, hint="ldconfig -v lists the folders of the linker; " + _PROVISION)


def test_forward_compatibility(spec: Spec, record: Record, probe: Probe) -> None:
    declared = ["{}-{}/compat".format(LINK, version) for version in spec["cuda_forward_compatibility"]]
    if not declared:
        _absent(record, probe, "cuda.forward_compatibility", COMPAT_FILE)
        return
    lines = _lines(_file(record, probe, "cuda.forward_compatibility", COMPAT_FILE))
    record.equal("cuda.forward_compatibility.persisted", " ".join(declared), " ".join(lines) or "absent", hint=_PROVISION)
    searched = _searched(record, probe, "cuda.forward_compatibility.running")
    if searched is not None:
        first = searched[0] if searched else "nothing"
        hint = "another folder comes first, so its libcuda is used"
        record.equal("cuda.forward_compatibility.running", declared[0], first, hint=hint)


def test_repository(spec: Spec, record: Record, probe: Probe) -> None:
    repository = spec["cuda_repository"]
    # A key that is not set is None.
    declared = [*(repository.get("uris") or []), *([repository["baseurl"]] if repository.get("baseurl") else [])]
    if not declared:
        record.not_applicable("cuda.repository", "the node's own sources are used")
        return
    text = _file(record, probe, "cuda.repository", APT_SOURCE if repository.get("uris") else DNF_SOURCE)
    if text is not None:
        missing = [uri for uri in declared if uri not in text.split() and "baseurl=" + uri not in text.replace(" ", "").splitlines()]
        found = ", ".join(missing) + " missing" if missing else ", ".join(declared)
        record.ok("cuda.repository.address", not missing, expected=", ".join(declared), found=found, hint=_PROVISION)


def _searched(record: Record, probe: Probe, check: str) -> Optional[List[str]]:
    """The folders that the linker searches, in order; None, with a finding, if ldconfig fails."""
    result = probe.run(SEARCHED)
    if result.error:
        record.could_not_run(check, result.error)
        return None
    return [line.partition(":")[0] for line in result.stdout.splitlines() if line.startswith("/")]


def _numbers(version: str) -> List[int]:
    return [int(n) for n in version.split(".")]
