#!/usr/bin/env bash
# Lint, unit and contract tests and one molecule scenario with the newest supported ansible-core, which needs Python 3.12 or later, in build/newest.
set -euo pipefail
cd "$(dirname "$0")/.."

log() { printf 'newest: %s\n' "$*" >&2; }

find_python() {
  for p in ${NEWEST_PYTHON:-} python3.13 python3.12 "$HOME"/.pyenv/versions/3.{13,12}.*/bin/python3; do
    if "$p" -c 'import sys, venv; sys.exit(not (3, 12) <= sys.version_info < (3, 14))' 2>/dev/null; then command -v "$p"; return; fi
  done
  printf 'newest: no Python 3.12 or 3.13\nhint: install one, or name it in NEWEST_PYTHON\n' >&2
  exit 3
}

stamp=$(cat requirements/dev.txt pyproject.toml hatch_build.py | sha256sum | cut -c1-16)
if [ "$(cat build/newest/.clusterctl-stamp 2>/dev/null)" != "$stamp" ]; then
  python=$(find_python)
  uv=$(command -v uv || echo build/uv/bin/uv)
  log "installing locked Python packages into build/newest with $("$python" --version)"
  export UV_SYSTEM_CERTS="${UV_SYSTEM_CERTS:-1}"
  [ -x build/newest/bin/python ] || "$uv" venv -q --no-python-downloads --python "$python" build/newest
  "$uv" pip sync -q --python build/newest/bin/python --require-hashes requirements/dev.txt
  "$uv" pip install -q --python build/newest/bin/python --no-deps --no-build-isolation -e .
  echo "$stamp" > build/newest/.clusterctl-stamp
fi

export PATH="$PWD/build/newest/bin:$PATH"
log "$(clusterctl --version)"
make --no-print-directory lint unit BIN=build/newest/bin
mkdir -p build/molecule
BIN=build/newest/bin scripts/molecule.sh "${NEWEST_SCENARIO:-node}"
