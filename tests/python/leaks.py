"""leaks.py PROGRAM: runs it with a library that has sanitizers, and lets go of what stays until the process ends, so that all else is a leak."""

import atexit
import os
import runpy
import sys

started = os.getpid()


@atexit.register  # before Sandlot is imported, and so after its own
def let_go():
    if os.getpid() != started:
        os._exit(0)  # what a forked child has of its parent's is no leak; how it ends is seen with the normal library
    from sandlot import _library, _runtime

    for host in _runtime._runtimes.values():
        _library.library.close(host)


sys.argv.pop(0)
runpy.run_path(sys.argv[0], run_name="__main__")
