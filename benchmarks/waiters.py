"""Many long polls that wait, in a process of their own: it says how many are connected, and holds them till its end."""

import asyncio
import json
import sys

import uvloop

from benchmarks.pollers import Caller, Polling

WAIT_SECONDS, SETTLE_SECONDS = 30, 3.0


async def main(told: dict[str, int | str]) -> None:
    number = int(told.pop("number"))
    polling = Polling(**told, jobs=0)  # type: ignore[arg-type]
    callers = [await Caller.open(polling) for _ in range(number)]
    waiting = [asyncio.create_task(caller.post("lease", {"waitSeconds": WAIT_SECONDS})) for caller in callers]
    # The server hears them in the order in which they were sent; what they cost it has settled by then.
    await asyncio.sleep(SETTLE_SECONDS)
    print(json.dumps({"waiting": len(waiting)}), flush=True)
    await asyncio.gather(*waiting)


if __name__ == "__main__":
    uvloop.run(main(json.loads(sys.argv[1])))
