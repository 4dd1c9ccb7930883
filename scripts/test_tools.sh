#!/usr/bin/env bash
# Unpacks what some tests ask besides the packages of setup.sh (a real subnet manager, PostgreSQL, promtool) into build/tools.
# Nothing is installed and no service is started. Without network the tests that need them are skipped, and say so.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/build/tools
root=$folder/root

say() { printf 'test tools: %s\n' "$*" >&2; }

here() { PATH=$PATH:/usr/sbin:/sbin:$root/usr/bin:$root/usr/sbin command -v "$1" >/dev/null; }

wanted=()
for pair in ibsim:ibsim-utils opensm:opensm iblinkinfo:infiniband-diags promtool:prometheus; do
  here "${pair%%:*}" || wanted+=("${pair##*:}")
done
here initdb || compgen -G "/usr/lib/postgresql/*/bin/initdb" >/dev/null || compgen -G "$root/usr/lib/postgresql/*/bin/initdb" >/dev/null || wanted+=(postgresql)
[ ${#wanted[@]} -gt 0 ] || exit 0

say "unpacking into build/tools: ${wanted[*]}"
rm -rf "$folder/new"
mkdir -p "$folder/debs/partial" "$folder/new"
[ ! -d "$root" ] || cp -a "$root/." "$folder/new"
if ! apt-get -qq -y -o Debug::NoLocking=1 -o Dir::Cache::archives="$folder/debs" -o APT::Sandbox::User="$(id -un)" \
  --no-install-recommends --download-only install "${wanted[@]}" >/dev/null 2>"$folder/apt.log"; then
  say "not to be had here ($(tail -n 1 "$folder/apt.log")); the tests that need them are skipped"
  exit 0
fi
for deb in "$folder"/debs/*.deb; do
  dpkg -x "$deb" "$folder/new"
done
# it names its library by an absolute path
if [ -f "$folder/new/usr/bin/ibsim-run" ]; then
  sed -i "s|^sim_so=/usr/|sim_so=$root/usr/|" "$folder/new/usr/bin/ibsim-run"
fi
# whole or not at all: a program without its libraries would fail tests instead of skipping them
rm -rf "$root"
mv "$folder/new" "$root"
rm -rf "$folder/debs"
