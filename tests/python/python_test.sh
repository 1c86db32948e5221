#!/bin/bash
# sdk/python, over `local`: every call, that each function of sandlot.h has one, the backend for deepagents, its README as printed, installed without network; its types.
set -u

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0
check() { # NAME COMMAND...
    local name=$1
    shift
    if "$@" >"$scratch/output" 2>&1; then
        echo "ok $name"
    else
        echo "not ok $name"
        tail -n 30 "$scratch/output" | sed 's/^/    /'
        failed=1
    fi
}
python=/usr/bin/python3 # Debian's
[ -x "$python" ] && "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    echo "python3 is not installed (make deps)"
    exit 77
}
export SANDLOT_LIBRARY=$BUILD/libsandlot.so.0 PYTHONDONTWRITEBYTECODE=1 PYTHONWARNINGS=error
cp -R sdk/python "$scratch/python"

mkdir "$scratch/plugins" && ln -s "$BUILD/tests/plugins/fake.so" "$scratch/plugins/" # on this machine, without walls, for what local cannot
printf '[sandboxes.providers.fake]\nisolation = "none"\n' >"$scratch/fake.toml"
# A library with sanitizers wants theirs in the interpreter, whose own memory is nobody's leak.
echo leak:bin/python3 >"$scratch/others"
sanitizer=$(ldd "$SANDLOT_LIBRARY" | awk '$1 ~ /^libasan/ { print $3 }')
runs() { # PROGRAM
    env ${sanitizer:+LD_PRELOAD="$sanitizer" ASAN_OPTIONS=detect_leaks=1 LSAN_OPTIONS="suppressions=$scratch/others:print_suppressions=0"} \
        PYTHONPATH="$scratch/python" SANDLOT_PLUGIN_PATH="$scratch/plugins" SANDLOT_TEST_FAKE="$scratch/fake.toml" \
        "$python" ${sanitizer:+tests/python/leaks.py} "tests/python/$1" || failed=1
}
runs calls.py
runs groups.py
[ -z "$sanitizer" ] || exit $failed # the rest is the same with any library
runs functions.py
PYTHONPATH=$scratch/python "$python" tests/python/agents.py || failed=1
check "no sandbox is left" sh -c 'test "$("$1" list --json | jq ".sandboxes | length")" = 0' sh "$SANDLOT"

# installed: as the README says, in a copy of the tree in which nothing is written
installed() {
    mkdir "$scratch/tree" && cp -R include sdk "$scratch/tree/" && cd "$scratch/tree" &&
        eval "$(sed -n '/^```sh$/,/^```$/{/^```/d;p}' sdk/python/README.md)"
}
if "$python" -c 'import ensurepip' 2>/dev/null; then
    check "pip install without network" env -u PYTHONWARNINGS PIP_NO_INDEX=1 PIP_DISABLE_PIP_VERSION_CHECK=1 bash -c "$(declare -f installed); scratch=$scratch; installed"
    check "the version is the library's" "$scratch/tree/venv/bin/python" -c 'import importlib.metadata, sandlot
assert importlib.metadata.version("sandlot") == sandlot.__version__'
    check "Deep Agents Code finds the provider" "$scratch/tree/venv/bin/python" -c 'import importlib.metadata
point, = importlib.metadata.entry_points(group="deepagents_code.sandbox_providers")
assert (point.name, point.value) == ("sandlot", "sandlot.deepagents:SandlotProvider"), point'
    for number in 1 2 3; do
        awk -v wanted="$number" '/^```python$/ { inside = ++n == wanted; next } /^```$/ { inside = 0 } inside' sdk/python/README.md >"$scratch/$number.py"
        check "README: program $number" "$scratch/tree/venv/bin/python" "$scratch/$number.py"
        cp "$scratch/output" "$scratch/said.$number"
    done
    awk '/^```python$/ { inside = ++n == 4; next } /^```$/ { inside = 0 } inside' sdk/python/README.md >"$scratch/4.py"
    check "README: the agent" env PYTHONPATH=tests/python "$scratch/tree/venv/bin/python" -c 'import runpy, sys, deepagents_facts
deepagents_facts.install()
runpy.run_path(sys.argv[1])' "$scratch/4.py"
    cp "$scratch/output" "$scratch/said.4"
    check "README: what they print" sh -c 'printf "42\n48\n3\n1000\n" | cmp - "$1/said.1" && printf "1\n2\n3\n5\n" | cmp - "$1/said.3" && printf "hello\n\n" | cmp - "$1/said.4" && grep -q "\[.0., .1.*7.\]" "$1/said.2"' sh "$scratch"
else
    echo "ok pip install without network # SKIP python3-venv is not installed"
fi
if command -v mypy >/dev/null; then
    check "types, those of the framework among them" env MYPYPATH="$PWD/tests/python/types" sh -c 'cd "$1" && mypy --strict --cache-dir=/dev/null sandlot' sh "$scratch/python"
else
    echo "ok types # SKIP mypy is not installed"
fi
exit $failed
