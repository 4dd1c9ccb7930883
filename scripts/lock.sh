#!/usr/bin/env bash
# Locks the dependencies with hashes and without index addresses.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$(command -v uv || echo build/uv/bin/uv)
common=(--universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header -q)
"$uv" pip compile "${common[@]}" pyproject.toml -o requirements/runtime.txt
"$uv" pip compile "${common[@]}" pyproject.toml --extra dev --extra collections -o requirements/dev.txt
echo uv | "$uv" pip compile "${common[@]}" - -o requirements/uv.txt
"$uv" pip compile "${common[@]}" benchmarks/requirements.in -o requirements/bench.txt
