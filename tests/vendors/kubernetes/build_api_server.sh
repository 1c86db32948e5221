#!/bin/bash
# Builds a kube-apiserver for api_server_test.sh of Debian's source package, which has all that Kubernetes is made of; Debian itself
# packages kubectl alone. Takes some ten minutes of a processor and 3 GB below FOLDER, and leaves FOLDER/kube-apiserver.
# tests/vendors/README.md has the commands around it. `apt-get source` needs deb-src among the sources of apt.
#
#   build_api_server.sh SOURCE FOLDER
set -eu

source=$(realpath "${1:?the unpacked source}") folder=$(realpath -m "${2:?a folder for what is built}")
export GOPATH=$folder/go GOCACHE=$folder/cache GO111MODULE=off CGO_ENABLED=0 GOFLAGS=
root=k8s.io/kubernetes
tree=$GOPATH/src/$root
mkdir -p "${tree%/*}"
ln -sfn "$source" "$tree"
cd "$tree"

# The one of the source writes where it likes when it is built with Go 1.18 or later.
reflect2=github.com/modern-go/reflect2
rm -f vendor/$reflect2/*.{go,s}
cp /usr/share/gocode/src/$reflect2/*.{go,s} vendor/$reflect2/

# What of the API is described to its clients is generated, and no part of the source.
go build -o "$folder/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
described() { # PATTERN: the packages of the API whose names have that
    (cd staging/src && grep -rlE --include='*.go' '^ *// *\+k8s:openapi-gen=' k8s.io) | xargs -n 1 dirname | sort -u |
        grep -vE '^k8s.io/(code-generator|sample-)|/testdata' | grep -E "$1" | sed "s|^|$root/vendor/|"
}
generate() { # FOLDER INPUT...
    local package=$1 inputs
    shift
    inputs=$(printf '%s,' "$@")
    "$folder/openapi-gen" --logtostderr -i "${inputs%,}" -p "$root/$package" -O zz_generated.openapi \
        -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt -r "$folder/violations"
}
base='^k8s.io/apimachinery/pkg/(apis/meta/v1|runtime|version)$'
# shellcheck disable=SC2046 # one word each
{
    generate pkg/generated/openapi $(described .) $root/pkg/apis/abac/v0 $root/pkg/apis/abac/v1beta1
    generate vendor/k8s.io/kube-aggregator/pkg/generated/openapi $(described "$base|kube-aggregator")
    generate vendor/k8s.io/apiextensions-apiserver/pkg/generated/openapi $(described "$base|apiextensions-apiserver|api/autoscaling/v1$")
}
go build -p 2 -tags providerless -o "$folder/kube-apiserver" -ldflags '-s -w' ./cmd/kube-apiserver
