#!/usr/bin/env bash
# Installs everything that `make demo` and `make test` need on Debian or Ubuntu, and reports it. Running it again changes nothing.
set -euo pipefail
cd "$(dirname "$0")/.."
# The certificate authority of a site is in the system's store.
export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}"

log() { printf 'setup: %s\n' "$*" >&2; }
die() { printf 'setup: %s\nhint: %s\n' "$1" "$2" >&2; exit 3; }

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null || die "root is needed to install OS packages" "run as root, or install sudo"
  as_root=(sudo)
fi

os_packages() {
  command -v apt-get >/dev/null || die "apt-get not found" "demo and tests run on Debian and Ubuntu; the CLI itself installs anywhere with pip"
  local packages=(podman runc mmdebstrap iptables netavark aardvark-dns openssh-client python3-venv ca-certificates) missing=()
  for p in "${packages[@]}"; do
    dpkg-query -W -f '${db:Status-Status}\n' "$p" 2>/dev/null | grep -qx installed || missing+=("$p")
  done
  [ ${#missing[@]} -gt 0 ] || return 0
  log "installing OS packages: ${missing[*]}"
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get update -qq
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

find_python() {
  for p in python3 python3.13 python3.12 python3.11; do
    if "$p" -c 'import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then command -v "$p"; return; fi
  done
  die "no Python 3.11 or later with venv" "apt-get install python3 python3-venv (Debian 12, Ubuntu 24.04 or later)"
}

get_uv() {
  if command -v uv >/dev/null; then command -v uv; return; fi
  if [ ! -x build/uv/bin/uv ]; then
    log "installing uv into build/uv"
    "$1" -m venv build/uv
    build/uv/bin/python -m pip install -q --require-hashes -r requirements/uv.txt >&2
  fi
  echo build/uv/bin/uv
}

environment() {
  local python uv stamp
  stamp=$(cat requirements/dev.txt pyproject.toml hatch_build.py | sha256sum | cut -c1-16)
  if [ -x .venv/bin/clusterctl ] && [ "$(cat .venv/.clusterctl-stamp 2>/dev/null)" = "$stamp" ] &&
    cmp -s requirements/node.txt build/node_packages/node.txt; then return; fi
  python=$(find_python)
  uv=$(get_uv "$python")
  [ -x .venv/bin/python ] || { log "creating .venv with $python"; "$uv" venv -q --python "$python" .venv; }
  log "installing locked Python packages into .venv (750 MB on disk, mostly Ansible collections for one test)"
  "$uv" pip sync -q --python .venv/bin/python --require-hashes requirements/dev.txt
  # its build hook downloads what travels to nodes into build/node_packages
  "$uv" pip install -q --python .venv/bin/python --no-deps --no-build-isolation -e .
  echo "$stamp" > .venv/.clusterctl-stamp
}

os_packages
environment
.venv/bin/clusterctl lab image >&2
