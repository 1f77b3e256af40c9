"""Uses the Python client in tasks of asyncio: its calls wait in threads, the loop goes on."""

import asyncio
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[4] / "src" / "clients"))

import berth  # noqa: E402

TASKS = 8


def use_slot(client: berth.Client, number: int) -> None:
    with client.acquire(f"task-{number % 4}"):
        client.consume()


async def tick(turns: "list[int]") -> None:
    while True:
        turns.append(1)
        await asyncio.sleep(0)


async def main(url: str, product: str) -> None:
    turns: "list[int]" = []
    ticking = asyncio.create_task(tick(turns))
    with berth.Client(url, product) as client:
        loop = asyncio.get_running_loop()
        calls = (loop.run_in_executor(None, use_slot, client, n) for n in range(TASKS))
        await asyncio.gather(*calls)
        # A task that is cancelled leaves its call, which ends in its thread.
        left = asyncio.ensure_future(loop.run_in_executor(None, use_slot, client, TASKS))
        await asyncio.sleep(0)
        left.cancel()
        await asyncio.gather(left, return_exceptions=True)
        ticking.cancel()
    print(len(turns) > TASKS)


asyncio.run(main(sys.argv[1], sys.argv[2]))
