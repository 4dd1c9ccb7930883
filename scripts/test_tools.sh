#!/usr/bin/env bash
# Unpacks the programs that some tests need in addition to setup.sh (a subnet manager, PostgreSQL, promtool, Slurm, a browser,
# programs that the lab simulates) into build/tools.
# Installs nothing and starts no service. Without network, the tests that need them are skipped with a message.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/build/tools
root=$folder/root

log() { printf 'test tools: %s\n' "$*" >&2; }

available() { PATH=$PATH:/usr/sbin:/sbin:$root/usr/bin:$root/usr/sbin:$root/bin:$root/sbin command -v "$1" >/dev/null; }

missing=()
for pair in ibsim:ibsim-utils opensm:opensm iblinkinfo:infiniband-diags promtool:prometheus; do
  available "${pair%%:*}" || missing+=("${pair##*:}")
done
# The real programs that `make cross-check` compares with the lab's.
for pair in ibv_devinfo:ibverbs-utils lspci:pciutils numactl:numactl ethtool:ethtool kmod:kmod lldpctl:lldpd lldpd:lldpd; do
  available "${pair%%:*}" || missing+=("${pair##*:}")
done
[ -f /usr/include/infiniband/verbs.h ] || [ -f "$root/usr/include/infiniband/verbs.h" ] || missing+=(libibverbs-dev)
# Without their packages' alternatives, the daemons of Slurm have the suffix -wlm.
for pair in slurmctld:slurmctld slurmd:slurmd scontrol:slurm-client munged:munge; do
  available "${pair%%:*}" || available "${pair%%:*}-wlm" || missing+=("${pair##*:}")
done
# The load of the gate host_memory.
available stressapptest || missing+=(stressapptest)
# Draws the pages of reports (96 MB to fetch, 290 MB unpacked).
available chromium || available chromium-headless-shell || missing+=(chromium-headless-shell)
available initdb || compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || compgen -G "$root/usr/lib/postgresql/*/bin/initdb" >/dev/null || missing+=(postgresql)
[ ${#missing[@]} -gt 0 ] || exit 0

log "unpacking into build/tools: ${missing[*]}"
rm -rf "$folder/new"
mkdir -p "$folder/debs/partial" "$folder/new"
[ ! -d "$root" ] || cp -a "$root/." "$folder/new"
if ! apt-get -qq -y -o Debug::NoLocking=1 -o Dir::Cache::archives="$folder/debs" -o APT::Sandbox::User="$(id -un)" \
  --no-install-recommends --download-only install "${missing[@]}" >/dev/null 2>"$folder/apt.log"; then
  log "not available ($(tail -n 1 "$folder/apt.log")); the tests that need them are skipped"
  exit 0
fi
for deb in "$folder"/debs/*.deb; do
  dpkg -x "$deb" "$folder/new"
done
# These contain absolute paths: of its library, and of the program itself.
if [ -f "$folder/new/usr/bin/ibsim-run" ]; then
  sed -i "s|^sim_so=/usr/|sim_so=$root/usr/|" "$folder/new/usr/bin/ibsim-run"
fi
if [ -f "$folder/new/usr/bin/chromium-headless-shell" ]; then
  sed -i "s|^/usr/lib/|$root/usr/lib/|" "$folder/new/usr/bin/chromium-headless-shell"
fi
# Replace the folder as a whole: with a program that lacks its libraries, tests would fail instead of being skipped.
rm -rf "$root"
mv "$folder/new" "$root"
rm -rf "$folder/debs"
