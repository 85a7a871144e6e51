"""Run by the call tests in a process of its own: ten members of a call talk at once, until the process is killed.

Prints the number of each message that it was told is said.
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from gshtui.bus.call_data import Principal
from tests.kit.mail_harness import MailHarness, open_mail

AMY = Principal("person", "amy")


async def speak(m: MailHarness, number: int) -> None:
    who = AMY if number == 0 else Principal(f"guest{number}", f"guest{number}", mode="ask")
    await m.calls.join("audio", who)
    for at in range(10_000):
        said = await m.calls.post_message(who, "audio", f"{number} says {at}", alone=False)
        print(said.seq, said.author, at, flush=True)


async def main(path: Path) -> None:
    async with open_mail(path) as m:
        await m.calls.create("audio", AMY)
        await asyncio.gather(*(speak(m, number) for number in range(10)))


asyncio.run(main(Path(sys.argv[1])))
