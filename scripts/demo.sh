#!/usr/bin/env bash
# The demo: starts a lab rack of six nodes, one of them with a degraded HCA, and provisions it.
set -euo pipefail
cd "$(dirname "$0")/.."
export PATH="$PWD/.venv/bin:$PATH"

bold='' plain=''
if [[ -t 2 ]]; then bold=$'\033[1m' plain=$'\033[0m'; fi
step() { printf '\n%s$ %s%s\n' "$bold" "$*" "$plain" >&2; }
run() { step "$@"; "$@"; }

run clusterctl lab up rack-12
rc=0
run clusterctl provision rack-12 --yes || rc=$?
run clusterctl status rack-12
run clusterctl report --out build/demo-report.html
case $rc in
  0) echo "demo: all nodes are admitted, because no fault is active in this lab (clusterctl lab status rack-12)" ;;
  7) echo "demo: done; as expected, a gate found the degraded HCA of one node, which is now quarantined (exit code 7)" ;;
  *) echo "demo: provision ended with exit code $rc; see docs/reference/exit-codes.md" >&2; exit "$rc" ;;
esac
cat <<'TXT'

Next steps (all measurements are simulated; `source .venv/bin/activate` puts clusterctl on PATH):
  clusterctl provision rack-12 --yes                  run again: takes seconds and changes nothing
  clusterctl history r12-n04                          show the history of the quarantined node
  build/demo-report.html                              report of the run: rack, heatmap, evidence
  clusterctl lab fault r12-n04 hca_degraded --clear   clear the fault, then:
  clusterctl provision r12-n04 --retest --partners r12-n01,r12-n02 --yes
  clusterctl lab fault --list                         list the faults that can be injected
  make demo-down                                      remove the lab
TXT
