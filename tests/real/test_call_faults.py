"""Calls under faults: a killed hub, members that go, two writers, borrowed names, and a very long conversation."""

import asyncio
import re
import sys
from pathlib import Path

import pytest

from gshtui.bus.agent_data import RESERVED_NAMES
from gshtui.bus.call_data import CallMember, CallMessage, Principal
from gshtui.calls.call_mount import CallMount
from gshtui.calls.call_service import CallService
from gshtui.commands.declaration import Caller, CommandError
from gshtui.store.record.store import Store
from gshtui.store.tables.call_table import add_message
from gshtui.text.sanitise import one_line
from gshtui.vfs import FileError
from tests.kit.command import ROOT, environment
from tests.kit.mail_harness import open_mail
from tests.real.test_call_service import NoPost

AMY = Principal("person", "amy")
PERSON = Caller()
SPOKEN = 60
"""Messages after which the process is killed."""


async def test_a_killed_hub_with_ten_in_a_call_loses_and_doubles_nothing_that_it_said_was_said(tmp_path: Path) -> None:
    path = tmp_path / "gsh.db"
    acknowledged: list[tuple[int, str, int]] = []
    script = Path(__file__).with_name("call_crash_script.py")
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, str(script), str(path)), cwd=ROOT, env=environment(), stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    while len(acknowledged) < SPOKEN and (line := await process.stdout.readline()):
        seq, author, at = line.decode().split()
        acknowledged.append((int(seq), author, int(at)))
    process.kill()
    await process.wait()
    assert len(acknowledged) == SPOKEN
    async with open_mail(path, start=False) as m:
        found = await m.store.calls.messages("audio", limit=100_000)
        assert [one.seq for one in found] == list(range(len(found)))
        assert len({one.id for one in found}) == len(found)
        by_number = {one.seq: one for one in found}
        for seq, author, at in acknowledged:
            assert by_number[seq].author == author and by_number[seq].text.endswith(f"says {at}")
        members = (await m.calls.find("audio", AMY)).members
        assert len([one for one in members if not one.is_agent]) == 10
        more = await m.calls.post_message(AMY, "audio", "go on", alone=False)
        assert more.seq == len(found)


async def test_an_agent_that_leaves_in_mid_answer_is_heard_and_asks_nobody_from_outside(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db") as m:
        one = await m.add_agent("one", kind="native")
        await m.add_agent("two", kind="native")
        await m.calls.create("audio", AMY)
        await m.calls.join("audio", AMY)
        for name in ("one", "two"):
            await m.calls.invite(name, "audio", AMY)
        put = await m.calls.post_message(AMY, "", "@one well?")
        letter = await m.store.mail.find(put.asks[0].letter)
        await m.calls.dismiss("one", "audio", AMY)
        answered = await m.store.mail.change(letter.id, answered=True, answer="Done. @two go on")
        await m.calls.post_answer(answered)
        last = (await m.store.calls.messages("audio"))[-1]
        assert (last.author, last.text, last.in_reply_to) == (one.id, "Done. @two go on", put.seq)
        assert last.asks == (), "it is no member any more"
        assert (await m.calls.find("audio", AMY)).member("one") is None
        await m.calls.post_answer(answered)
        assert len([at for at in await m.store.calls.messages("audio") if at.text == last.text]) == 1


async def test_a_call_that_is_removed_in_mid_answer_takes_the_answer_with_it(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db") as m:
        await m.add_agent("one", kind="native")
        await m.calls.create("audio", AMY)
        await m.calls.join("audio", AMY)
        await m.calls.invite("one", "audio", AMY)
        put = await m.calls.post_message(AMY, "", "@one well?")
        await m.calls.remove("audio", AMY)
        answered = await m.store.mail.change(put.asks[0].letter, answered=True, answer="Done.")
        await m.calls.post_answer(answered)
        assert await m.store.calls.names() == ["lobby"]
        assert (await m.calls.find("", AMY)).name == "lobby"


async def test_of_two_who_write_one_document_neither_is_lost(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        await m.calls.create("audio", AMY)
        mount = CallMount(lambda: m.calls, m.store.calls)
        goals, prompt = ("audio", "context", "pinned", "goals.md"), ("audio", "context", "system.prompt")
        await asyncio.gather(
            *(mount.write(PERSON, goals, f"goal {number}\n", append=True) for number in range(20)),
            *(mount.write(PERSON, prompt, f"rule {number}\n", append=True) for number in range(20)),
        )
        for path, word in ((goals, "goal"), (prompt, "rule")):
            written = (await mount.read(PERSON, path)).splitlines()
            assert sorted(written) == sorted(f"{word} {number}" for number in range(20))
        await asyncio.gather(*(mount.write(PERSON, goals, f"{n}" * 1_000, append=False) for n in range(10)))
        assert len(set(await mount.read(PERSON, goals))) == 1, "one of them, whole"


@pytest.mark.parametrize("name", ["person", "you", "All", "PARENT", "lobby", "main", "gsh", "amy", "Amy\x1b[2J"])
async def test_an_agent_gets_no_name_of_somebody_else(tmp_path: Path, name: str) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        await m.calls.create("audio", AMY)
        row = await m.add_agent(name, kind="native")
        assert row.name not in RESERVED_NAMES | {"amy"} and row.name.replace("-", "").isalnum()
        again = await m.store.agents.update(row.id, name="person")
        assert again.name == "person-2"


async def test_what_a_name_holds_drives_no_terminal(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        for bad in ("a\x1b[2J", "\u202eaudio", "a\nb", "a\0", "ａudio"):
            with pytest.raises(CommandError) as refused:
                await m.calls.create(bad, AMY)
            assert refused.value.message.isprintable()
        await m.calls.create("audio", AMY)
        mount = CallMount(lambda: m.calls, m.store.calls)
        with pytest.raises((CommandError, FileError)):
            await mount.write(PERSON, ("audio", "context", "pinned", "a\u202eb"), "x", append=False)
        await m.calls.set_topic("audio", "one\x1b]0;title\x07\ntwo", AMY)
        topic = (await m.calls.find("audio", AMY)).topic
        assert topic == one_line(topic, 300) and "\x1b" not in topic


async def fill(store: Store, number: int) -> None:
    def add(connection: object) -> None:
        for at in range(number):
            message = CallMessage(call="audio", id=f"m{at}", author="bo", author_name="bo", text=f"line {at}")
            add_message(connection, message)  # type: ignore[arg-type]

    await store.calls._write(add)  # pyright: ignore[reportPrivateUsage]  # one transaction instead of 10,000


async def test_ten_thousand_messages(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        await m.calls.create("audio", AMY)
        await fill(m.store, 10_000)
        page = await m.calls.history("audio", AMY, limit=200)
        assert [one.seq for one in page] == list(range(9_800, 10_000))
        assert (await m.calls.history("audio", AMY, limit=3, before=5_000))[0].text == "line 4997"
        mount = CallMount(lambda: m.calls, m.store.calls)
        listed = await mount.list(PERSON, ("audio", "conversation"))
        assert [node.name for node in listed] == [f"{number:04}.msg" for number in range(10_000)]
        assert "line 9999" in await mount.read(PERSON, ("audio", "conversation", "9999.msg"))
        assert len(await m.calls.search("audio", "line 99", AMY, limit=1_000)) == 111
        member = CallMember(member="x", name="x", is_agent=True)
        assert await m.store.calls.add_member("audio", member)
        await m.add_agent("late", kind="native")
        await m.calls.invite("late", "audio", AMY)
        put = await m.calls.post_message(AMY, "audio", "@late hello")
        text = (await m.store.mail.find(put.asks[0].letter)).text
        assert len(text) < 40_000 and text.count("> [") < 2_000
        left_out = int(text.partition(" earlier messages")[0].rpartition("(")[2])
        assert left_out + text.count("\n> [") == put.seq


async def test_a_summary_takes_in_every_message_in_parts_and_says_how_far_it_got(tmp_path: Path) -> None:
    async with open_mail(tmp_path / "gsh.db", start=False) as m:
        await m.calls.create("audio", AMY)
        await fill(m.store, 450)
        asked: list[str] = []

        async def ask(prompt: str, _agent: str, _tokens: int) -> str:
            asked.append(prompt)
            if len(asked) == 2:
                raise CommandError("The model is gone.")
            return f"part {len(asked)}"

        calls = CallService(m.main.bus, m.store, NoPost(), "amy", ask)
        with pytest.raises(CommandError, match="model is gone"):
            await calls.summarise("audio", AMY)
        half = await calls.find("audio", AMY)
        assert half.summary == "part 1" and 0 < half.summary_to < 449
        for number in range(50):
            await calls.post_message(AMY, "audio", f"long {number} {'x' * 4_000}", alone=False)
        whole = await calls.summarise("audio", AMY)
        assert whole.summary == f"part {len(asked)}" and whole.summary_to == 499
        prompts = (asked[0], *asked[2:])
        seen = [int(one) for prompt in prompts for one in re.findall(r"^> \[(\d+)\]", prompt, re.MULTILINE)]
        assert seen == list(range(500)), "each once, in their order"
        assert f"messages 0 to {half.summary_to}:\n\n> part 1" in asked[2] and max(map(len, asked)) < 70_000
        with pytest.raises(CommandError, match="since its last summary"):
            await calls.summarise("audio", AMY)
