#!/usr/bin/env bash
# Locks the dependencies with hashes, without the URLs of package indexes.
set -euo pipefail
cd "$(dirname "$0")/.."
uv=$(command -v uv || echo build/uv/bin/uv)
plain=(--generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header -q)
common=(--universal --python-version 3.11 "${plain[@]}")
"$uv" pip compile "${common[@]}" pyproject.toml -o requirements/runtime.txt
"$uv" pip compile "${common[@]}" pyproject.toml --extra serve -c requirements/runtime.txt -o requirements/serve.txt
"$uv" pip compile "${common[@]}" pyproject.toml --extra queue -c requirements/runtime.txt -o requirements/queue.txt
"$uv" pip compile "${common[@]}" pyproject.toml --extra dev -o requirements/dev.txt
echo hatchling | "$uv" pip compile "${common[@]}" - -c requirements/dev.txt -o requirements/build.txt
echo uv | "$uv" pip compile "${common[@]}" - -o requirements/uv.txt
# what travels to nodes: one version of each for every Python, nothing but what is listed
"$uv" pip compile --no-deps --python-version 3.9 --python-platform linux "${plain[@]}" requirements/node.in -o requirements/node.txt
"$uv" pip compile "${common[@]}" requirements/dmtf.in -o requirements/dmtf.txt
"$uv" pip compile "${common[@]}" benchmarks/requirements.in -o requirements/bench.txt
