"""The node image: a base layer of Debian packages (built once, about a minute) and the simulated machine on top (seconds)."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from clusterctl_lab.apt_sources import AptSources, host_sources
from clusterctl_lab.image_context import context_digest, write_context
from clusterctl_lab.podman import as_root, podman, run_command

if TYPE_CHECKING:
    from collections.abc import Callable

BASE_IMAGE = "localhost/clusterctl-base"
NODE_IMAGE = "localhost/clusterctl-node"
BUILD_TIMEOUT_S = 900
KEPT_IMAGES = 4

# The packages of a minimal server. Everything else a role must install.
BASE_PACKAGES = (
    "apt,systemd-sysv,dbus,iproute2,iputils-ping,kmod,openssh-server,procps,python3,python3-apt,python3-debian,sudo,ca-certificates,"
    "pciutils,dmidecode"
)
# Real packages that roles may install. They are stored in the image, so that nodes need no mirror.
POOL_PACKAGES = (
    "chrony",
    "irqbalance",
    "numactl",
    "ethtool",
    "linux-cpupower",
    "cpufrequtils",
    "tuned",
    "nfs-common",
    "rdma-core",
    "ibverbs-utils",
)


def ensure_image(report: Callable[[str], None]) -> str:
    """Build the missing layers of the node image and return its name. `report` gets progress messages.

    Raises:
        LabError: the host has no package source, or the build failed.
    """
    sources = host_sources()
    base = f"{BASE_IMAGE}:{_base_digest(sources)}"
    node = f"{NODE_IMAGE}:{_short_digest(base, context_digest())}"
    if _image_exists(node):
        return node
    if not _image_exists(base):
        report(f"building {base} from {sources.suite} packages (once, about a minute)")
        _build_base(base, sources)
    report(f"building {node}")
    _build_node(node, base)
    for name in (NODE_IMAGE, BASE_IMAGE):
        _remove_old_images(name)
    return node


def _base_digest(sources: AptSources) -> str:
    return _short_digest(sources.suite, sources.text, BASE_PACKAGES, *POOL_PACKAGES, _POOL_HOOK, *_OPTIONS)


_OPTIONS = (
    "--variant=minbase",
    '--aptopt=APT::Install-Recommends "false"',
    "--dpkgopt=path-exclude=/usr/share/man/*",
    "--dpkgopt=path-exclude=/usr/share/doc/*",
    "--dpkgopt=path-exclude=/usr/share/locale/*",
)
# One package at a time, so that a package missing in this release does not affect the others.
_POOL_HOOK = (
    'mkdir -p "$1/opt/clusterctl-lab/pool"; chroot "$1" apt-get clean; for p in {packages}; do '
    'chroot "$1" apt-get install -y -qq --no-install-recommends --download-only "$p" >/dev/null || echo "no $p in this release" >&2; done; '
    'mv "$1"/var/cache/apt/archives/*.deb "$1/opt/clusterctl-lab/pool/"'
)


def _build_base(name: str, sources: AptSources) -> None:
    with tempfile.TemporaryDirectory(prefix="clusterctl-image-", dir="/var/tmp") as scratch:
        tar, source_file = Path(scratch, "base.tar"), Path(scratch, "host.sources")
        source_file.write_text(sources.text, encoding="utf-8")
        hook = _POOL_HOOK.format(packages=" ".join(POOL_PACKAGES))
        argv = [
            "mmdebstrap",
            *_OPTIONS,
            f"--include={BASE_PACKAGES}",
            f"--customize-hook={hook}",
            sources.suite,
            str(tar),
            str(source_file),
        ]
        run_command(as_root(*argv), timeout_s=BUILD_TIMEOUT_S)
        podman("import", "--change", 'CMD ["/sbin/init"]', str(tar), name, timeout_s=BUILD_TIMEOUT_S)


def _build_node(name: str, base: str) -> None:
    with tempfile.TemporaryDirectory(prefix="clusterctl-image-", dir="/var/tmp") as scratch:
        write_context(Path(scratch), base)
        podman("build", "--quiet", "--network", "none", "--tag", name, scratch, timeout_s=BUILD_TIMEOUT_S)


def _remove_old_images(name: str) -> None:
    """Remove all but the newest images; podman keeps images that a container uses."""
    found = podman("images", "--sort", "created", "--filter", f"reference={name}", "--format", "{{.Repository}}:{{.Tag}}").stdout.split()
    for old in found[KEPT_IMAGES:]:
        podman("rmi", old, check=False)


def _image_exists(name: str) -> bool:
    return podman("image", "exists", name, check=False).returncode == 0


def _short_digest(*inputs: str) -> str:
    return hashlib.sha256("\0".join(inputs).encode()).hexdigest()[:12]
