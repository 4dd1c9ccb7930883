#!/usr/bin/env bash
# Runs one molecule scenario with its log in build/molecule; prints the log if it fails. BIN: programs of another environment than .venv. Exit status 255 makes xargs stop.
set -uo pipefail
cd "$(dirname "$0")/.."
log="build/molecule/$1.log"
began=$SECONDS
if "${BIN:-.venv/bin}/molecule" test -s "$1" >"$log" 2>&1 </dev/null; then
  echo "molecule: $1 passed ($((SECONDS - began)) s)"
else
  cat "$log"
  echo "molecule: $1 FAILED ($((SECONDS - began)) s); log: $log" >&2
  exit 255
fi
