#!/usr/bin/env bash
# The whole suite: two lab nodes, provisioned; the peers in an environment of their own; everything measured; the lab removed.
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD site=$PWD/build/bench/site
export PATH="$root/.venv/bin:$PATH"
mkdir -p "$site"
cat > "$site/clusterctl.yml" <<TXT
inventory: ['@common', $root/inventory/lab, $site/state/lab/hosts]
state_dir: state
operator: bench
TXT
[ -x build/bench/peers/bin/python ] || python -m venv build/bench/peers
build/bench/peers/bin/python -m pip install -q -r benchmarks/requirements.txt
trap 'cd "$site" && clusterctl lab down rack-36' EXIT
(cd "$site" && clusterctl lab up rack-36 --nodes 2 --healthy && clusterctl provision r36-n01,r36-n02 --level quick --yes)
python benchmarks/bench.py --lab "$site" "$@"
