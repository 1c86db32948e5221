"""binding_asyncio.py ID PATH CALLS: as binding.py, each call awaited in an event loop."""

import asyncio
import sys

from sandlot import AsyncSandbox

name, path, calls = sys.argv[1:]


async def main():
    async with AsyncSandbox(sandbox_id=name) as box:
        for _line in sys.stdin:
            for _ in range(int(calls)):
                await box.read(path)
            print(flush=True)


asyncio.run(main())
