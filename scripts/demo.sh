#!/usr/bin/env bash
# The demo: a lab rack of six nodes, one of them with a degraded HCA, provisioned from nothing.
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
  0) echo "demo: every node is admitted: no fault is set in this lab (clusterctl lab status rack-12)" ;;
  7) echo "demo: done; one node is quarantined because a gate found its degraded HCA (exit code 7), as it should" ;;
  *) echo "demo: provision ended with exit code $rc; see docs/reference/exit-codes.md" >&2; exit "$rc" ;;
esac
cat <<'TXT'

Where to look next (every number here is simulated; `source .venv/bin/activate` puts clusterctl on PATH):
  clusterctl provision rack-12 --yes                  again: nothing changes, it takes seconds
  clusterctl history r12-n04                          the story of the quarantined node
  build/demo-report.html                              the page of the run: rack, heatmap, evidence
  clusterctl lab fault r12-n04 hca_degraded --clear   repair it, then:
  clusterctl provision r12-n04 --retest --partners r12-n01,r12-n02 --yes
  clusterctl lab fault --list                         break something else
  make demo-down                                      remove the lab
TXT
