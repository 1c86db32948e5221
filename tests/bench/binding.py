"""binding.py ID PATH CALLS: for each line of input, reads PATH in the box ID so often and answers with a line."""

import sys

from sandlot import Sandbox

name, path, calls = sys.argv[1:]
with Sandbox(sandbox_id=name) as box:
    for _line in sys.stdin:
        for _ in range(int(calls)):
            box.read(path)
        print(flush=True)
