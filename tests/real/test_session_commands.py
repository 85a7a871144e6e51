"""`session …` as people, scripts and agents use it, and the two forms of export."""

import asyncio
import base64
import json
import stat
from collections.abc import AsyncGenerator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import msgspec
import pytest

from gshtui.agents.sessions import OpenSessions
from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.context_data import Block, Iteration
from gshtui.bus.events.session_events import SessionChangeRequested
from gshtui.bus.messages import (
    Document,
    Image,
    Message,
    Picture,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Usage,
    png_text,
)
from gshtui.bus.usage_data import UsageRow
from gshtui.commands.completion import complete
from gshtui.commands.declaration import Caller, CommandError, Effect, Invocation, Outcome, UsageError
from gshtui.commands.evaluation import run_line
from gshtui.commands.language import parse
from gshtui.commands.registry import Registry
from gshtui.store.engine.store_errors import StoreError
from gshtui.store.record.store import Store
from gshtui.store.sessions import session_export
from gshtui.store.sessions.session_calls import RemoveSessions
from gshtui.store.sessions.session_commands import commands
from gshtui.store.tables import session_table
from gshtui.system.expected_error import ExpectedError
from tests.kit.home import Home
from tests.kit.record import numbered_prompt, open_record
from tests.kit.tmux import eventually

CONVERSATION = (
    Message("p", "user", (Text("why?\x1b]0;owned\x07"), Image("image/png", "QUJD", "shot.png")), at=5.0, turn="t"),
    Message(
        "a",
        "assistant",
        (
            Thinking("hm\nhm", {"anthropic": {"signature": "s"}}),
            Text("Let me look.\n\n```\ncode\n```"),
            ToolCall("c", "bash", {"command": "ls", "big": 2**70}),
        ),
        model="m1",
        provider="anthropic",
        usage=Usage(input=10, output=5),
    ),
    Message("r", "tool", (ToolResult("c", "bash", "````\nfour ticks", "error", diff="+new", output="k"),)),
    Message("d", "user", (Document("application/pdf", "not base64!", ""),)),
)


class Shell:
    """A person's command line on a store, in a folder; its model answers with the number of the question."""

    def __init__(self, store: Store, cwd: Path) -> None:
        self.store = store
        self.cwd = cwd
        self.asked = list[str]()
        self.registry = Registry()
        for command in commands(store, lambda: lambda text: text.replace("hunter2", "•••"), self._ask, self._label):
            self.registry.register(command)

    def _label(self, model: str) -> str:
        return "Model One" if model == "m9" else model

    async def _ask(self, prompt: str, agent: str, tokens: int) -> str:
        if len(self.asked) == 3:
            raise ExpectedError("The model did not answer.", "Try again.")
        self.asked.append(prompt)
        return f"summary {len(self.asked)}\x1b[2J of {tokens}"

    def invocation(self, *, agent: bool = False, session: str = "") -> Invocation:
        return Invocation(Caller("main", is_agent=agent), self.cwd, self.cwd, session=session)

    async def run(self, line: str, *, agent: bool = False, session: str = "") -> Outcome:
        return await run_line(self.registry, line, self.invocation(agent=agent, session=session))


@pytest.fixture
async def shell(home: Home) -> AsyncGenerator[Shell]:
    async with open_record(home.data / "gsh" / "gsh.db") as store:
        yield Shell(store, home.path)


async def _conversation(shell: Shell, cwd: Path | None = None) -> str:
    info = await shell.store.sessions.create(cwd=str(cwd or shell.cwd), agent="main", model="m1")
    for message in CONVERSATION:
        await shell.store.messages.append(info.id, message)
    return info.id


async def test_an_export_as_json_lines_loses_nothing(shell: Shell) -> None:
    session = await _conversation(shell)
    key = await shell.store.outputs.put(session, "c", "the whole output\n" * 100)
    await shell.store.messages.save_partial(session, Message("x", "assistant", (Text("cut"),)))
    lines = [json.loads(line) async for line in session_export.lines(shell.store, session, "jsonl")]
    assert [line["type"] for line in lines] == ["session", *["message"] * 4, "partial", "output"]
    assert (lines[0]["v"], lines[0]["id"], lines[0]["model"]) == (1, session, "m1")
    back = [msgspec.convert(line["message"], Message) for line in lines[1:6]]
    assert back == [*CONVERSATION, *await shell.store.messages.partials(session)]
    assert [line["seq"] for line in lines[1:5]] == [1, 2, 3, 4]
    assert (lines[6]["call"], lines[6]["key"], lines[6]["text"]) == ("c", key, "the whole output\n" * 100)


async def test_an_export_holds_what_was_sent_and_each_request_can_be_put_together_from_it(shell: Shell) -> None:
    session = await _conversation(shell)
    blocks: list[Block] = []
    for number in range(230):
        blocks.append(Block(f"m{number}/0", "history", "text", "you", 1, f"{number:032x}"))
        del blocks[:-20]
        mark = Iteration(f"i{number}", "main", session, "t", 1, 1.0)
        await shell.store.contexts.add_iteration(mark, blocks, {f"{number:032x}": f"text {number}"})
    await shell.store.contexts.add_overlay(session, "o", "pinned", 1.0, '{"kind": "pinned", "block": "m1/0"}')
    lines = [json.loads(line) async for line in session_export.lines(shell.store, session, "jsonl")]
    (overlay,) = [line for line in lines if line["type"] == "overlay"]
    assert overlay["overlay"]["block"] == "m1/0"
    words = {line["hash"]: line["text"] for line in lines if line["type"] == "text"}
    assert len(words) == 230
    made: dict[str, list[Any]] = {"": []}
    for line in lines:
        if line["type"] != "iteration":
            continue
        base, whole = made[line["base"]], list[Any]()
        for piece in line["blocks"]:
            whole += base[piece[0] : piece[1]] if isinstance(piece, list) else [piece]
        made[line["iteration"]["id"]] = whole
    assert len(made) == 231
    for number in (0, 1, 64, 100, 229):
        assert msgspec.convert(made[f"i{number}"], tuple[Block, ...]) == await shell.store.contexts.blocks(f"i{number}")
    assert words[made["i229"][-1]["hash"]] == "text 229"


async def test_a_long_conversation_is_exported_page_by_page_whole(shell: Shell) -> None:
    info = await shell.store.sessions.create(cwd="/p", agent="main")
    for number in range(450):
        await shell.store.messages.append(info.id, numbered_prompt(number))
    lines = [json.loads(line) async for line in session_export.lines(shell.store, info.id, "jsonl")]
    for redact in (None, str):
        assert (
            json.loads("".join([part async for part in session_export.lines(shell.store, info.id, "json", redact)]))
            == lines
        )
    assert [line["seq"] for line in lines[1:]] == list(range(1, 451))


async def test_markdown_shows_everything_and_drives_no_terminal(shell: Shell) -> None:
    text = "".join([line async for line in session_export.lines(shell.store, await _conversation(shell), "markdown")])
    assert text.startswith("# why?")
    for shown in (
        "why?\\x1b]0;owned\\x07",
        "(shot.png: image/png, 3 bytes)",
        "## Assistant (m1)",
        "> hm\n> hm",
        '"command": "ls"',
        "`````\n````\nfour ticks\n`````",
        "```diff\n+new\n```",
        "(attachment: application/pdf, 8 bytes)",
    ):
        assert shown in text
    assert all(char.isprintable() or char in "\n\t" for char in text)


async def test_ls_lists_this_folder_or_all(shell: Shell, tmp_path: Path) -> None:
    assert "No conversations yet" in (await shell.run("session")).text
    here, there = await _conversation(shell), await _conversation(shell, tmp_path)
    outcome = await shell.run("session ls")
    assert [row["id"] for row in outcome.data] == [here]
    head, row = outcome.text.splitlines()
    assert row.split()[:2] == ["1", here] and head.split()[:3] == ["number", "id", "age"]
    assert head.index("title") == row.index(outcome.data[0]["title"])
    assert "\x1b" not in outcome.text
    everywhere = await shell.run("session ls all=true")
    assert [row["id"] for row in everywhere.data] == [there, here]
    assert str(tmp_path) in everywhere.text
    await shell.store.holds.acquire(here, "window 1")
    assert "[open in window 1]" in (await shell.run("session ls")).text


async def test_show_gives_the_newest_messages_and_says_what_is_left_out(shell: Shell) -> None:
    session = await _conversation(shell)
    outcome = await shell.run("session show limit=2")
    assert [entry["seq"] for entry in outcome.data["messages"]] == [3, 4]
    assert "2 earlier messages" in outcome.text
    whole = await shell.run(f"session show {session} all=true")
    assert len(whole.data["messages"]) == 4
    assert json.dumps(whole.data)


async def test_resume_says_which_and_whether_it_is_open_elsewhere(shell: Shell) -> None:
    first, second = await _conversation(shell), await _conversation(shell)
    assert (await shell.run("session resume", session=second)).data["session"] == second
    await shell.store.holds.acquire(first, "window 1")
    outcome = await shell.run(f"session resume {first[-6:]}")
    assert (outcome.data["session"], outcome.data["held_by"]) == (first, "window 1")
    assert "window 1" in outcome.text


async def test_rm_removes_several_but_not_what_is_open(shell: Shell) -> None:
    one, two, three, four = [await _conversation(shell) for _ in range(4)]
    outcome = await shell.run(f"session rm {one} {two}")
    assert outcome.data == {"removed": [one, two]}
    await shell.store.holds.acquire(three, "window 1")
    for line, session, words in (
        (f"session rm {three}", "", "window 1"),
        (f"session rm {four}", four, "open here"),
        ("session rm", "", "The conversation to remove is missing"),
        (f"session rm {one}", "", "no conversation"),
    ):
        with pytest.raises(CommandError) as error:
            await shell.run(line, session=session)
        assert words in error.value.message
        assert error.value.hint
    assert {info.id for info in await shell.store.sessions.find_all()} == {three, four}


async def test_an_archived_conversation_is_kept_out_of_lists_until_it_is_taken_back_or_goes_on(shell: Shell) -> None:
    one, two, three = [await _conversation(shell) for _ in range(3)]
    held = await shell.store.holds.acquire(three, "window 1")
    with pytest.raises(CommandError, match="window 1"):
        await shell.run(f"session archive {three}")
    with pytest.raises(CommandError, match="Name a conversation"):
        await shell.run("session archive")
    said = await shell.run(f"session archive {one} {two}")
    assert said.text == "Archived. `session unarchive` takes them back.", "it fits into a notice"
    assert said.aside == f"`session unarchive {one} {two}` takes them back."

    async def listed(line: str) -> set[str]:
        return {entry["id"] for entry in (await shell.run(line)).data}

    assert await listed("session ls") == await listed("session ls all=true") == {three}
    assert await listed("session ls archived=true") == {one, two}
    told = (await shell.run("session ls archived=true")).text
    assert not told.startswith("1 "), "a number is one of the other list"
    latest = await shell.store.sessions.latest(str(shell.cwd))
    assert latest is not None and latest.id == three
    assert (await shell.run(f"session show {one}")).data["session"]["archived"]
    assert (await shell.run("session search why")).data, "a search finds what is archived, too"
    assert (await shell.run("session rm keep=0")).data == {"removed": []}, "what is archived or open stays"
    await held.release()
    await shell.run(f"session archive {three}")
    assert "`session ls archived=true` (`--archived`) lists them" in (await shell.run("session ls")).text
    await shell.run(f"session restore {three}")
    await shell.run(f"session restore {one}")
    with pytest.raises(CommandError, match="is not archived"):
        await shell.run(f"session unarchive {three}")
    assert (await shell.run("session unarchive 1")).data[0]["id"] == two, "the number is that of the archived ones"
    await shell.run(f"session archive {two}")
    await shell.store.messages.append(two, Message("m9", "user", (Text("and now?"),)))
    assert await listed("session ls") == {one, two, three}


@pytest.mark.parametrize("word", ["archive", "rm"])
async def test_nothing_is_changed_where_one_of_several_is_open(shell: Shell, word: str) -> None:
    one, two = [await _conversation(shell) for _ in range(2)]
    await shell.store.holds.acquire(two, "window 1")
    with pytest.raises(CommandError, match="window 1"):
        await shell.run(f"session {word} {one} {two}")
    assert [info.id for info in await shell.store.sessions.find_all(archived=False)] == [two, one]


async def test_the_ids_to_choose_from_have_titles_and_are_of_those_that_the_word_is_for(shell: Shell) -> None:
    one, two = [await _conversation(shell) for _ in range(2)]
    await shell.run(f"session archive {one}")

    async def offered(line: str) -> list[tuple[str, str]]:
        found = await complete(shell.registry, shell.invocation(), line, len(line))
        return [(item.value, item.detail) for item in found if item.kind == "value"]

    title = "why? ]0;owned"  # nothing in it acts
    assert await offered("session unarchive ") == [(one, title)]
    assert await offered("session archive ") == [(two, title)]
    assert await offered("session show ") == [(two, title), (one, f"{title} · archived")]


async def test_export_writes_a_private_file_and_no_other(shell: Shell) -> None:
    session = await _conversation(shell)
    outcome = await shell.run(f"session export {session} out=talk.jsonl")
    file = shell.cwd / "talk.jsonl"
    assert outcome.data == {"session": session, "format": "jsonl", "file": str(file), "bytes": file.stat().st_size}
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert len(file.read_text().splitlines()) == 5
    with pytest.raises(CommandError, match="already exists"):
        await shell.run("session export out=talk.jsonl format=markdown")
    with pytest.raises(CommandError, match="Can't write"):
        await shell.run("session export out=nowhere/talk.md")
    assert (await shell.run("session export")).text.startswith("# why?")
    with pytest.raises(CommandError, match="no conversation"):
        await shell.run("session export zzzz out=other.md")
    assert [entry.name for entry in shell.cwd.iterdir()] == ["talk.jsonl"]


async def _used(shell: Shell, session: str, cost: float | None, *, model: str = "m1", provider: str = "p") -> None:
    usage = Usage(input=100, output=20)
    await shell.store.usage.add(UsageRow(session, "main", "t", 1, 1.0, provider, model, usage, cost=cost))


async def test_ls_shows_agent_model_and_cost_and_is_filtered(shell: Shell) -> None:
    dear, free = await _conversation(shell), await _conversation(shell)
    fixer = (await shell.store.sessions.create(cwd=str(shell.cwd), agent="fixer", model="m1")).id
    await shell.store.messages.append(fixer, numbered_prompt(1))
    await _used(shell, dear, 0.5, model="Opus-5", provider="anthropic")
    await _used(shell, free, None, model="local")
    outcome = await shell.run("session ls")
    assert [(row["id"], row["cost"], row["tokens"]) for row in outcome.data] == [
        (fixer, None, 0),
        (free, None, 120),
        (dear, 0.5, 120),
    ]
    assert [line.split()[5:8] for line in outcome.text.splitlines()[1:]] == [
        ["-", "m1", "-"],
        ["p", "local", "-"],
        ["anthropic", "Opus-5", "$0.50"],
    ]
    assert (await shell.run("session ls limit=2")).text.splitlines()[3:] == [
        "(the newest 2; `session ls limit=N` (`--limit N`) lists more)"
    ]
    for words, wanted in (
        ("agent=fixer", [fixer]),
        ("provider=anthropic", [dear]),
        ("model=opus", [dear]),
        ("cost=0.5", [dear]),
        ("cost=0.51", []),
        ("model=opus agent=fixer", []),
    ):
        found = await shell.run(f"session ls {words}")
        assert [row["id"] for row in found.data] == wanted
        assert not found.text.startswith("1 "), "the numbers are those of the whole list"


async def test_a_number_of_the_list_names_a_conversation(shell: Shell) -> None:
    old, new = await _conversation(shell), await _conversation(shell)
    assert (await shell.run("session show 1")).data["session"]["id"] == new
    assert (await shell.run("session resume 2")).data["session"] == old
    with pytest.raises(CommandError, match="no conversation 3 in this folder: it has 2"):
        await shell.run("session show 3")
    with pytest.raises(StoreError, match="conversation"):
        await shell.store.sessions.find("1")  # without a folder it is part of an id
    opened = await OpenSessions(Bus(), shell.store, "here").open("2", agent="main", cwd=str(shell.cwd))
    assert opened.info.id == old, "as `prompt --session 2` does"
    await shell.run("session rename 1 A name")
    assert (await shell.store.sessions.find(new)).title == "A name"
    await shell.run("session rename latest Another name")
    for line in ("session show latest", "session show"):
        assert (await shell.run(line)).data["session"]["title"] == "Another name"
    await shell.store.holds.release_all(1.0)
    assert (await shell.run("session rm 2")).data == {"removed": [old]}


async def test_what_is_not_kept_is_deleted_once_its_process_is_gone(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_table, "_BEING_OPENED", -1.0)
    sessions = shell.store.sessions
    kept, held, left = [await _conversation(shell) for _ in range(3)]
    for one in (held, left):
        await sessions.set_passing(one)
    await shell.store.holds.acquire(held, "a window")
    bus = Bus()
    opened = OpenSessions(bus, shell.store, "here", keeps=lambda agent: agent != "committer")
    await opened.open("new", agent="committer", cwd=str(shell.cwd))
    await eventually(
        lambda: sessions.find_all(limit=9), until=lambda found: {one.id for one in found} == {kept, held}
    )  # its own is open, and has no message yet
    assert len(await sessions.find_all(limit=9, empty=True)) == 3
    await opened.close_all()
    await bus.close()


async def test_of_two_that_go_on_with_it_at_once_one_begins_another(shell: Shell) -> None:
    session, bus = await _conversation(shell), Bus()
    two = [OpenSessions(bus, shell.store, where) for where in ("gsh here", "gsh there")]
    opened = await asyncio.gather(
        *(one.open(session, agent="main", cwd=str(shell.cwd), or_new=True) for one in two),
        OpenSessions(bus, shell.store, "gsh").open("gone", agent="main", cwd=str(shell.cwd), or_new=True),
    )
    assert all(one.conversation is not None for one in opened)
    assert [one.info.id for one in opened].count(session) == 1
    assert len({one.info.id for one in opened}) == 3
    for one in two:
        await one.close_all()
    await bus.close()


async def test_show_begins_with_what_is_known_of_the_conversation(shell: Shell) -> None:
    session = await _conversation(shell)
    await _used(shell, session, 0.25, model="Opus-5", provider="anthropic")
    lines = dict(line.split(None, 1) for line in (await shell.run("session show")).text.splitlines()[:7])
    assert lines["model"] == "anthropic Opus-5"
    assert lines["used"] == "120 tokens, $0.25"
    assert (lines["agent"], lines["messages"], lines["folder"]) == ("main", "4", str(shell.cwd))
    assert lines["conversation"].startswith(session)


async def test_rm_can_keep_the_newest_and_says_what_it_would_remove(shell: Shell, tmp_path: Path) -> None:
    old = [await _conversation(shell) for _ in range(12)]
    held, here, new = [await _conversation(shell) for _ in range(3)]
    elsewhere = await _conversation(shell, tmp_path)
    await shell.store.holds.acquire(held, "window 1")
    parsed = parse(shell.registry, "session rm keep=1")
    (asks,) = [action.asks for action in parsed.command.actions if action.parameters is RemoveSessions]
    assert asks is not None
    question = await asks(shell.invocation(session=here), RemoveSessions(keep=1))
    assert question is not None
    assert question.title == "Permanently remove 12 conversations?"
    assert isinstance(question.agreed, RemoveSessions)
    assert set(question.agreed.sessions) == set(old), "not what becomes old between the question and the answer"
    assert len(question.text.splitlines()) == 11
    assert question.text.endswith("and 2 more")
    outcome = await shell.run("session rm keep=1", session=here)
    assert set(outcome.data["removed"]) == set(old)
    left = {info.id for info in await shell.store.sessions.find_all()}
    assert left == {held, here, new, elsewhere}
    assert (await shell.run("session rm keep=5", session=here)).text == "There was nothing to remove."
    with pytest.raises(UsageError, match="not both"):
        await shell.run(f"session rm {new} keep=1")


HOSTILE = (
    "<script>alert(1)</script> ![p](https://spy.example/p.png) [x](javascript:alert(1)) <img src=x onerror=y>\x1b[2J"
    "\n\n| a | b |\n|---|---|\n| <b> | 2 |\n"
)


async def test_html_is_one_file_that_loads_and_runs_nothing(shell: Shell) -> None:
    info = await shell.store.sessions.create(cwd=str(shell.cwd), agent="main", title='"><script>1</script>')
    key = await shell.store.outputs.put(info.id, "c", png_text(b"PNG"))
    drawn = Picture("plot <1>", key, 4, 3, 3)
    for message in (
        Message(
            "p", "user", (Text(HOSTILE), Image("image/svg+xml", "PHN2Zz4=", "<x>.svg"), Image("image/png", "QUJD"))
        ),
        Message(
            "a", "assistant", (Thinking(HOSTILE), Text(HOSTILE), ToolCall("c", HOSTILE, {"k": HOSTILE})), model="<m>"
        ),
        Message("r", "tool", (ToolResult("c", "bash", HOSTILE, "error", diff="-<a>\n+<b>", pictures=(drawn,)),)),
    ):
        await shell.store.messages.append(info.id, message)
    await shell.run(f"session export {info.id} out=talk.html")
    text = (shell.cwd / "talk.html").read_text()
    tags = TagReader()
    tags.feed(text)
    assert {name for name, _ in tags.found} <= ALLOWED
    for name, attributes in tags.found:
        assert not {one for one in attributes if one.startswith("on")}
        assert name == "a" or "href" not in attributes
        assert attributes.get("src", "data:image/png;base64,").startswith("data:image/png;base64,")
        assert attributes.get("href", "https://").startswith("https://")
    assert [values["src"] for name, values in tags.found if name == "img"] == [
        "data:image/png;base64,QUJD",
        f"data:image/png;base64,{base64.b64encode(b'PNG').decode()}",
    ]
    assert ("table", {}) in tags.found
    assert "default-src 'none'" in text
    assert "\x1b" not in text
    assert '<span class="add">+&lt;b&gt;</span>' in text


async def test_html_is_redacted_as_every_export_is(shell: Shell) -> None:
    session = await _conversation(shell)
    pieces = session_export.lines(shell.store, session, "html", lambda text: text.replace("Let me look", "•••"))
    text = "".join([piece async for piece in pieces])
    assert "•••" in text
    assert "Let me look" not in text


async def test_a_conversation_is_summarised_a_part_at_a_time_without_its_secrets(shell: Shell) -> None:
    info = await shell.store.sessions.create(cwd=str(shell.cwd), agent="main", title="Parser")
    result = ToolResult("c", "bash", "all is well\n" * 1_000)
    await shell.store.messages.append(info.id, Message("r", "tool", (result,)))
    outcome = await shell.run("session summarise words=100")
    assert outcome.data == {"session": info.id, "summary": "summary 1\\x1b[2J of 400"}
    (prompt,) = shell.asked
    assert "is all of a conversation between a person and an AI agent, called 'Parser'" in prompt
    assert "> bash ok: all is well" in prompt
    assert "more characters)" in prompt
    assert len(prompt) < 1_500
    for number in range(30):
        text = f"message {number}: the password is hunter2. " + "x" * 3_000
        await shell.store.messages.append(info.id, Message(f"m{number}", "user", (Text(text),)))
    shell.asked.clear()
    await shell.run(f"session summarise {info.id}")
    assert len(shell.asked) == 3
    assert all(prompt.count(f"message {number}:") == 0 for prompt, number in zip(shell.asked, (29, 0, 0), strict=True))
    assert sum(prompt.count("message ") for prompt in shell.asked) == 30
    assert "> summary 1" in shell.asked[1] and "> summary 2" in shell.asked[2]
    assert "part 3, the last one, of" in shell.asked[2]
    assert all(line.startswith("> ") for line in shell.asked[1].split("\n\n", 1)[1].split("\n")[2:] if line)
    assert not any("hunter2" in prompt for prompt in shell.asked)
    with pytest.raises(CommandError, match="did not answer"):
        await shell.run("session summarise")


class TagReader(HTMLParser):
    """The tags of a file, with their attributes."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, {name: value or "" for name, value in attrs}))


ALLOWED = {"html", "head", "meta", "title", "style", "body", "header", "h1", "section", "p", "small", "div", "pre"} | {
    *("code", "details", "summary", "span", "img", "a", "table", "thead", "tbody", "tr", "th", "td")
}


async def test_search_and_rename_take_the_rest_of_the_line(shell: Shell, tmp_path: Path) -> None:
    session = await _conversation(shell)
    await _conversation(shell, tmp_path)
    hits: Any = (await shell.run("session search let me look")).data
    assert [(hit["session"], hit["seq"]) for hit in hits] == [(session, 2)]
    assert len((await shell.run("session search all=true let me look")).data) == 2
    assert "Nothing found" in (await shell.run("session search absent")).text
    outcome = await shell.run(f"session rename {session} Why it fails: a=b")
    assert outcome.data["title"] == "Why it fails: a=b"
    for line in ("session search", f"session rename {session}", "session dance"):
        with pytest.raises(UsageError):
            await shell.run(line)


async def test_agents_may_look_at_this_folders_conversations_and_no_more(shell: Shell, tmp_path: Path) -> None:
    mine, foreign = await _conversation(shell), await _conversation(shell, tmp_path)
    for line in ("session ls", f"session show {mine}", "session search look"):
        assert (await shell.run(line, agent=True)).text
    for action in ("resume", "rm", "export", "summarise", "rename"):
        with pytest.raises(UsageError, match="for people only"):
            await shell.run(f"session {action} {mine} x", agent=True)
    for line, effect, inside in (
        ("session ls", Effect.READ, True),
        ("session ls all=true", Effect.READ, False),
        ("session search all=true x", Effect.READ, False),
        (f"session show {mine} all=true", Effect.READ, True),
        (f"session show {foreign}", Effect.READ, False),
        ("session show zzzz", Effect.READ, True),
        (f"session rm {mine}", Effect.WRITE, False),
    ):
        parsed = parse(shell.registry, line)
        assert parsed.command.assess is not None
        judged = await parsed.command.assess(shell.invocation(agent=True), parsed.parameters)
        assert (judged.effect, judged.inside) == (effect, inside), line


async def test_ids_are_completed_and_a_closed_store_is_one_clear_sentence(shell: Shell) -> None:
    session = await _conversation(shell)
    family = commands(shell.store)
    assert [command.name for command in family] == ["session", "resume"]
    for command in family:
        assert command.complete is not None
        assert await command.complete(shell.invocation(), "target", session[:5]) == [session]
        assert await command.complete(shell.invocation(), "target", "nothing") == []
        assert await command.complete(shell.invocation(), "title", "") == []
    for line in (f"resume {session[-5:]}", f"session target={session} action=resume"):
        intent = (await shell.run(line)).intent
        assert isinstance(intent, SessionChangeRequested) and intent.session == session
    await shell.store.close()
    for command in family:
        assert command.complete is not None
        assert await command.complete(shell.invocation(), "target", "") == []
    for line in ("session ls", "resume"):
        with pytest.raises(CommandError, match="closed"):
            await shell.run(line)


async def test_a_list_says_agents_and_models_as_people_call_them(shell: Shell) -> None:
    wish = AgentRow(id="", name="docs", kind="native", runtime="tmux", status="idle")
    row = await shell.store.agents.add(wish, SpawnRequest())
    info = await shell.store.sessions.create(cwd=str(shell.cwd), agent=row.id, model="m9")
    await shell.store.messages.append(info.id, numbered_prompt(0))
    listed, shown = await shell.run("session ls"), await shell.run(f"session show {info.id}")
    assert " docs " in listed.text and " Model One " in listed.text and row.id not in listed.text
    assert "docs" in shown.text and "Model One" in shown.text
    assert listed.data[0]["agent"] == row.id, "scripts get the ids"
    for name in ("docs", row.id):
        assert (await shell.run(f"session ls agent={name}")).data == listed.data
