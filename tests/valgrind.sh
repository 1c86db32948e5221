#!/bin/bash
# The unit tests under valgrind, which sees uses of uninitialised memory that no sanitizer of gcc does.
set -u

command -v valgrind >/dev/null || {
    echo "valgrind is not installed"
    exit 77
}
failed=0
shopt -s nullglob
for source in tests/unit/*_test.c; do
    name=$(basename "${source%.c}")
    # The tests of plugins/local make namespaces with clone3(2), which valgrind does not let through.
    # Some put an allocator in the place that valgrind wants; those of the SDK's network and programs look at the clock;
    # registry_test runs a copy of its own program, which under valgrind is valgrind's.
    grep -q failing_allocator.h "$source" && continue
    case $name in local_* | *allocation_test | registry_test | sdk_http*_test | sdk_websocket_test | sdk_remote_command_test | \
        sdk_process_test) continue ;; esac
    # These are about what a kernel does that valgrind does not know, openat2(2), pidfd_open(2) and capget(2) by its number, and
    # look at answers that there are none of without it. The sanitizers run them.
    case $name in native_* | tools_call_test) continue ;; esac
    # Leaks are LeakSanitizer's part: a forked child of a test owns what it never frees, and would end with 99 for it.
    if SANDLOT_TEST_FEW=1 valgrind -q --error-exitcode=99 --leak-check=no --child-silent-after-fork=yes \
        "$BUILD/tests/$name" >"$TMPDIR/output" 2>&1; then
        echo "ok $name"
    elif [ $? != 99 ] && grep -q 'WARNING: unhandled .* syscall' "$TMPDIR/output"; then
        echo "ok $name # SKIP this valgrind does not know a system call that it needs"
    else
        echo "not ok $name"
        sed 's/^/# /' "$TMPDIR/output"
        failed=1
    fi
done
exit $failed
