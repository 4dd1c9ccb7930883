#!/usr/bin/env bash
# Runs the slow tests on a virtual machine with its own kernel (QEMU, without KVM), and DMTF's programs on the lab's BMC. Reports the packages that it installs; passes its arguments to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

log() { printf 'acceptance: %s\n' "$*" >&2; }
die() { printf 'acceptance: %s\nhint: %s\n' "$1" "$2" >&2; exit 3; }

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || die "root is needed to install OS packages and to build the disk image" "run as root, or install sudo"
  as_root=(sudo)
fi
command -v apt-get >/dev/null || die "apt-get not found" "the VM image is built from the packages of a Debian 12 machine"

packages=(qemu-system-x86 qemu-utils ovmf sbsigntool openssl mmdebstrap fdisk e2fsprogs openssh-client)
missing=()
for p in "${packages[@]}"; do
  dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing+=("$p")
done
if [ ${#missing[@]} -gt 0 ]; then
  log "installing OS packages: ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
fi

uv=$(command -v uv || echo build/uv/bin/uv)
if ! cmp -s requirements/dmtf.txt build/dmtf/.locked; then
  log "installing DMTF's judges of Redfish services into build/dmtf"
  export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}"
  [ -x build/dmtf/bin/python ] || "$uv" venv -q --python .venv/bin/python build/dmtf
  "$uv" pip sync -q --python build/dmtf/bin/python --require-hashes requirements/dmtf.txt
  cp requirements/dmtf.txt build/dmtf/.locked
fi

started=$SECONDS
status=0
.venv/bin/pytest tests/acceptance -v --durations=0 --durations-min=1 "$@" || status=$?
log "took $((SECONDS - started)) s"
exit "$status"
