# shellcheck shell=bash disable=SC2034,SC2154
# The kubeconfigs of the tests. Sourced. A server of plain HTTP on this machine: base_url says which.
write_configuration() { # FILE TOKEN
    cat >"$1" <<END
apiVersion: v1
kind: Config
current-context: test
contexts:
- name: test
  context: {cluster: test, user: test}
clusters:
- name: test
  cluster:
    server: https://nowhere.invalid
users:
- name: test
  user:
    token: $2
END
}
