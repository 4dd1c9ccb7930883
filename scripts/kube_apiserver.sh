#!/usr/bin/env bash
# Brings a real kube-apiserver and etcd into build/kube: etcd from its Debian package, kube-apiserver compiled from the source package of Debian 12
# with the Go of Debian 12; no module is downloaded. About ten minutes and 3 GB, once. Installs nothing. Where a part cannot be had, it says so and
# ends with 0: the tests that need it are skipped with a message.
set -euo pipefail
cd "$(dirname "$0")/.."
folder=$PWD/build/kube
version=1.20.5+really1.20.2-1.1+deb12u1
# of the .dsc, which has the sums of the sources; a later revision is looked at before it is built
sha256=19fa1da5aefcef673894ac9511986bd98a14410cf8eea0b626613c30df435257
go=golang-1.19

log() { printf 'kube-apiserver: %s\n' "$*" >&2; }
skip() { log "not available ($*); the tests that need it are skipped"; exit 0; }

if [ -x "$folder/root/usr/bin/etcd" ] && [ "$(cat "$folder/bin/built-from" 2>/dev/null)" = "$sha256" ]; then exit 0; fi
for program in apt-get dpkg-source gcc openssl; do
  command -v "$program" >/dev/null || skip "$program is missing"
done

mkdir -p "$folder"/{debs/partial,lists/partial,etc,bin,path/src/k8s.io}
cd "$folder"
log "unpacking etcd and Go"
apt=(apt-get -qq -y -o Debug::NoLocking=1 -o APT::Sandbox::User="$(id -un)")
"${apt[@]}" -o Dir::Cache::archives="$folder/debs" --no-install-recommends --download-only install etcd-server "$go-go" "$go-src" >/dev/null 2>apt.log ||
  skip "$(tail -n 1 apt.log)"
rm -rf root
for deb in debs/{etcd-server,"$go"-{go,src}}_*.deb; do
  [ -f "$deb" ] || skip "a package is installed already; apt does not fetch $deb"
  dpkg -x "$deb" root
done

log "fetching the source of Kubernetes $version"
sed 's/^Types: deb$/Types: deb-src/' /etc/apt/sources.list.d/*.sources > etc/src.sources
source_only=(-o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$folder/etc" -o Dir::State::lists="$folder/lists")
{ "${apt[@]}" "${source_only[@]}" update && "${apt[@]}" "${source_only[@]}" source --download-only "kubernetes=$version"; } >/dev/null 2>apt.log ||
  skip "$(tail -n 1 apt.log)"
dsc=kubernetes_$version.dsc
echo "$sha256  $dsc" | sha256sum --check --quiet || skip "$dsc has another checksum"
rm -rf source
dpkg-source -x "$dsc" source >/dev/null 2>&1

log "compiling it (minutes)"
ln -sfn "$folder/source" path/src/k8s.io/kubernetes
export GOROOT=$folder/root/usr/lib/go-1.19 GO111MODULE=off GOPATH=$folder/path GOCACHE=$folder/cache GOPROXY=off CGO_ENABLED=0
export PATH=$GOROOT/bin:$PATH
cd path/src/k8s.io/kubernetes
# the generated OpenAPI definitions are not in the source package
go build -o "$folder/bin/openapi-gen" k8s.io/kubernetes/vendor/k8s.io/kube-openapi/cmd/openapi-gen
folders=$({
  grep -rl --include='*.go' '+k8s:openapi-gen=' pkg cmd plugin
  grep -rl --include='*.go' '+k8s:openapi-gen=' staging/src/k8s.io | sed 's#^staging/src/#vendor/#'
} | grep -vE 'code-generator|sample-apiserver|_test.go|zz_generated|testdata|/test/' | xargs -n1 dirname | sort -u | sed 's#^#k8s.io/kubernetes/#' | paste -sd,)
"$folder/bin/openapi-gen" --go-header-file hack/boilerplate/boilerplate.generatego.txt --input-dirs "$folders" \
  --output-package k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi --report-filename "$folder/violations.txt" --output-base "$folder/path/src"
go build -ldflags "-s -w" -o "$folder/bin/kube-apiserver" k8s.io/kubernetes/cmd/kube-apiserver
echo "$sha256" > "$folder/bin/built-from"
cd "$folder"
chmod -R u+w cache path
rm -rf cache path source debs lists etc bin/openapi-gen root/usr/lib/go-1.19 root/usr/share/go-1.19 kubernetes_*
log "built $folder/bin/kube-apiserver"
