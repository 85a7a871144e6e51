"""The face for screen readers: a prompt, a question and its answer, commands and shell lines, and no control sequence
but those of the input's own line. Opened by an option, or by the settings."""

import asyncio
import contextlib
import os
import re
import signal
from collections.abc import Iterator
from contextvars import copy_context
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace
from rich.cells import cell_len

from gshtui.bus.agent_data import AgentRow, OpenQuestion, QuestionChoice
from gshtui.bus.events.agent_events import TextDelta, ToolFinished, TurnFinished
from gshtui.bus.events.approval_events import DENIED, REASON
from gshtui.commands.declaration import Caller, Invocation, Outcome
from gshtui.commands.printed_outcome import line_printed, printed
from gshtui.fleet.commands.agent_outcomes import answered_question
from gshtui.fleet.core.agent_calls import AnsweredQuestion
from gshtui.headless import exits, streams
from gshtui.headless.outcomes import print_outcome
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import LINE_FACE, STDOUT, ShownBytes, Writer, at_words
from gshtui.headless.turns import prompt_turn, reporter
from gshtui.headless.turns.line_face import FOR_WINDOW, LineFace
from gshtui.headless.turns.reporter import Reporter, failure_words
from gshtui.text import cells
from gshtui.ui.window.features import FEATURES, WORDS
from tests.kit.fake_terminal import agent_row
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Call, Fault, Say
from tests.kit.pty_child import PtyChild, WarmPtyChild

_MOVES = re.compile(rb"\x1b\[[0-9;?]*[A-HJKSTfhlmnru]|[\x0e\x0f\x08]")

TOKEN = f"ghp_{'a1' * 18}"


def converse(child: PtyChild) -> None:
    """What a person types, each once what it belongs to was said."""

    def says(words: bytes, after: int = 0) -> None:
        child.read_until(lambda: words in child.output[after:])

    def type(line: bytes) -> int:
        before = len(child.output)
        child.write(line)
        return before

    child.go()
    says(b"main> ")
    at = type(b"make a file\n")
    says(b"\r\nAnswer: ", at)
    asked = child.output[at:]
    assert asked.index(b"touch made.txt") < asked.index(b"deny with reason") < asked.index(b"sandboxed"), asked
    at = type(b"1")
    says(b"allowed once", at)
    says(b"It is made.\r\nmain> ", at)
    at = type(b"/mode loud\n")
    says(b"yolo or next, not 'loud'", at)
    says(b"There was something\r\nDone.\r\nmain> ", type(b"!echo There was something\n"))
    says(b"Start here", type(b"/help\n"))
    says(b"No other agents here.", type(b"\n"))
    type(b"/quit\n")
    assert child.wait() == 0


async def test_a_whole_exchange_in_plain_lines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    answers = [[Say("I do it."), Call("bash", {"command": "touch made.txt"})], [Say("It is made.")]]
    async with loopback("anthropic", answers) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        with contextlib.closing(WarmPtyChild(["--screen-reader"], tmp_path)) as child:
            await asyncio.to_thread(converse, child)
    assert (tmp_path / "made.txt").exists()
    assert _MOVES.findall(child.output) == []


LINES = (
    ("/rewind 1", "no conversation is open for /rewind"),
    ("/home/me/x.py explain this", "It is a path."),
    ("/compact", "nothing to compact yet"),
    ("/mode plan", "main is in plan mode"),
    ("/mode", "main: plan"),
    ("/settings", "/config set KEY VALUE to change one"),
    ("/model openrouter/anthropic/claude-x", ""),
    ("/model anthropic/claude-opus-4-5", "Claude Opus 4.5 is used"),
    ("/model", "Claude Opus 4.5 via anthropic"),
    ("/hello you", "Hello to you."),
    ("//init", "It is a word."),
    ("/init", "It is written."),
    ("/rewind 3", "The next prompt continues in "),
    ("/resume nowhere", "There is no conversation 'nowhere'"),
    ("/session resume 2", "The next prompt continues in "),
    ("/clear", "starts a new conversation"),
    ("/session ls", "number: 2; id: "),
    ("/session rm 1", "[y/N] "),
    ("\x03", ""),
    ("/session rm 1", "[y/N] "),
    ("y", "Removed: "),
    ("!echo $TERM-$NO_COLOR-", "xterm-256color--"),
    ("caf\udce9", "that line is not text"),
    ("once more", "It hangs"),
    ("\x03", "interrupted"),
    ("and again", "It hangs"),
)
"""What a person types, and what is said to it."""


def type_lines(child: PtyChild) -> None:
    child.go()
    child.read_until(lambda: b"main> " in child.output)
    for line, answer in LINES:
        at = len(child.output)
        child.write(line.encode("utf-8", "surrogateescape") + b"\n" * (line != "\x03"))
        waits = b"[y/N] " if answer == "[y/N] " else answer.encode() if answer == "It hangs" else b"\r\nmain> "
        child.read_until(lambda at=at, waits=waits: waits in child.output[at:])
        assert answer.encode() in child.output[at:], (line, child.output[at:])
    os.kill(child.pid, signal.SIGTERM)
    assert child.wait() == -signal.SIGTERM


async def test_commands_are_about_the_conversation(tmp_path: Path, home: Home, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = home.config / "gsh" / "prompts" / "hello.md"
    kept.parent.mkdir(parents=True)
    kept.write_text("Greet $ARGUMENTS.\n", encoding="utf-8")
    said = ("It is a path.", "Hello to you.", "It is a word.", "It is written.")
    answers = [*([Say(words)] for words in said), *([[Say("It hangs\n"), Fault.hang_after(1)]] * 2)]
    async with loopback("anthropic", answers, chunk=100) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        with contextlib.closing(WarmPtyChild(["--screen-reader"], tmp_path)) as child:
            await asyncio.to_thread(type_lines, child)
        sent = [str(request.body) for request in server.requests]
    assert "/home/me/x.py explain this" in sent[0] and "claude-opus-4-5" not in sent[0]
    assert "Greet you." in sent[1] and "/home/me/x.py explain this" in sent[1] and "claude-opus-4-5" in sent[1]
    assert "/init" in sent[2] and "It tells agents what they must know" not in sent[2]
    assert "It tells agents what they must know" in sent[3]
    assert "Greet you." not in sent[4] and "/home/me" not in sent[4]
    assert _MOVES.findall(child.output) == []


@pytest.mark.parametrize(
    ("more", "says"),
    [
        (["--resume", "nowhere"], b"There is no conversation 'nowhere'"),
        (["--pane", "shell"], b"--pane is for the window"),
    ],
)
def test_what_it_is_opened_with_counts(more: list[str], says: bytes, tmp_path: Path) -> None:
    with contextlib.closing(WarmPtyChild(["--screen-reader", *more], tmp_path)) as child:
        child.go(b"hello\n\x04")
        child.read_until(lambda: says in child.output)
        child.wait()


def test_agents_that_cannot_be_listed_are_told_of_once(tmp_path: Path, home: Home) -> None:
    home.data.mkdir(parents=True, exist_ok=True)
    (home.data / "gsh").write_text("in the way", encoding="utf-8")
    with contextlib.closing(WarmPtyChild(["--screen-reader"], tmp_path)) as child:
        child.go()
        child.read_until(lambda: b"main> " in child.output)
        complaint = child.output.partition(b"\r\nmain> ")[0].rpartition(b"\r\n")[2]
        for line, count in ((b"/clear\n", 1), (b"\n", 2), (b"/clear\n", 2)):
            at = len(child.output)
            child.write(line)
            child.read_until(lambda at=at: b"\r\nmain> " in child.output[at:])
            assert child.output.count(complaint) == count
        assert b"No other agents" not in child.output


def test_an_agent_that_leaves_the_list_is_told_of(capfd: pytest.CaptureFixture[str]) -> None:
    listed = [[agent_row(name="fix", status="idle")], []]

    class Face(LineFace):
        def _agents(self) -> list[AgentRow] | int:
            return listed.pop(0)

    face = Face()
    face.run_line("")
    face.run_line("")
    assert capfd.readouterr().out.splitlines() == [
        "fix is idle.",
        "fix is no longer listed.",
        "No other agents here. /spawn to start one.",
    ]


def test_agents_that_ask_are_a_line_each(capfd: pytest.CaptureFixture[str]) -> None:
    asks = OpenQuestion("q", "Run make test?", "in /src\n" * 20, (QuestionChoice("1", "Yes"),))
    rows = [agent_row(id=str(n), name=f"fix-{n}", status="waiting", needs_you=True, question=asks) for n in range(4)]

    class Face(LineFace):
        def _agents(self) -> list[AgentRow] | int:
            return rows

    face = Face()
    for line in ("", "/questions"):
        face.run_line(line)
        said = capfd.readouterr().out.splitlines()
        assert len(said) == 4
        assert said[2].startswith("fix-2 needs you. It asks: Run make test? in /src ⏎ in /src ⏎ ")
        assert said[2].endswith(" ⏎ in /src. /agent answer fix-2 has its choices.")


def test_agents_that_are_over_need_nobody(capfd: pytest.CaptureFixture[str]) -> None:
    asks = OpenQuestion("q", "Run make test?", choices=(QuestionChoice("1", "Yes"),))
    old = agent_row(id="1", name="old", status="done", ended=5.0, killed=True, question=asks)
    new = agent_row(id="2", name="new", status="waiting", needs_you=True, question=asks)
    killed = replace(new, needs_you=False, killed=True)
    ended = replace(killed, status="done", ended=9.0)
    listed = [
        [old, new],
        [old, killed],
        [old, ended],
        [old, ended],
        [replace(old, status="idle", ended=0.0, killed=False)],
    ]

    class Face(LineFace):
        def _agents(self) -> list[AgentRow] | int:
            return listed.pop(0)

    face = Face()
    for line, said in (
        ("/questions", ["new needs you. It asks: Run make test? /agent answer new has its choices."]),
        ("/questions", ["new was killed."]),
        ("/questions", ["new has ended (done)."]),
        ("", ["2 ended. /agents to list them."]),
        ("/questions", ["new is no longer listed.", "old is idle."]),
    ):
        face.run_line(line)
        assert capfd.readouterr().out.splitlines() == said


def test_who_asks_in_another_folder_is_told_with_that_folder(capfd: pytest.CaptureFixture[str]) -> None:
    asks = OpenQuestion("q", "Run make test?", choices=(QuestionChoice("1", "Yes"),))
    far = agent_row(id="0007", name="fix", home="/src/other", status="waiting", needs_you=True, question=asks)

    class Face(LineFace):
        def _agents(self) -> list[AgentRow] | int:
            self._elsewhere = frozenset({"0007"} if far in listed else ())
            return listed

    face, listed = Face(), [far]
    face.run_line("/questions")
    told = "fix in /src/other needs you. It asks: Run make test? /agent answer 0007 has its choices.\n"
    assert capfd.readouterr().out == told
    listed = []
    face.run_line("")
    assert "no longer" not in capfd.readouterr().out


def test_each_word_of_the_window_says_what_does_it_here(capfd: pytest.CaptureFixture[str]) -> None:
    words = set(WORDS).union(*(feature.WORDS for feature in FEATURES))
    assert words == FOR_WINDOW.keys()
    LineFace().run_line("/settings")
    assert capfd.readouterr().out == f"{FOR_WINDOW['settings']}\n"


@pytest.mark.parametrize(
    ("answers", "sent"), [([True], "use [redacted] here"), ([False, True], f"use {TOKEN} here"), ([False, False], "")]
)
def test_a_secret_is_sent_only_as_the_person_says(
    answers: list[bool], sent: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    prompts: list[str] = []
    monkeypatch.setattr(streams, "ask_yes_no", lambda _: answers.pop(0))
    monkeypatch.setattr(prompt_turn, "prompt", lambda request, **_: prompts.append(request.text))
    LineFace().run_line(f"use {TOKEN} here")
    assert not answers and prompts == ([sent] if sent else [])
    assert ("Nothing was sent." in capfd.readouterr().out) is not bool(sent)


def test_a_failed_call_says_why_and_a_read_is_one_line(capfd: pytest.CaptureFixture[str]) -> None:
    printed = "collected 3 items\nFAILED test_x.py::test_a\n[exit code: 1]"
    done = ToolFinished(agent="main", session="s", call="c", tool="bash", status="error", content=printed)
    assert failure_words(done) == "failed, exit code 1: FAILED test_x.py::test_a"
    assert failure_words(replace(done, tool="read", content="There is no x.py.\nhint")) == "failed: There is no x.py."
    assert failure_words(replace(done, status="timeout", content="")) == "timeout"


_DETAIL = "~~~ x\necho `mode plan` **a**\n```\n# b\n~~~\nmake all   check install && rm -rf ~/build"
ASKED = OpenQuestion("q", "Run it?", _DETAIL, (QuestionChoice("1", "Yes"),))


def test_what_is_approved_is_printed_as_it_is(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "is_terminal", lambda _: True)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((40, 20)))
    outcome = answered_question(
        Invocation(Caller(), Path("/"), Path("/")), AnsweredQuestion(agent_row(name="fix", question=ASKED), ASKED)
    )

    def in_lines(said: dict[str, Any]) -> int:
        LINE_FACE.set(True)
        return print_outcome(said, "agent answer")

    for said in (printed(outcome, as_json=False), line_printed(outcome, as_json=False, plain=True, aloud=True)):
        assert copy_context().run(in_lines, said) == exits.DONE
        shown = capfd.readouterr()
        assert f"\n\n{ASKED.detail}\n\n1  Yes\n" in shown.out
        how = "/agent answer 0001 NUMBER answers.\n"
        assert how in (shown.err, shown.out[-len(how) :])


def test_what_a_tool_prints_is_no_table_of_ours(capfd: pytest.CaptureFixture[str]) -> None:
    table = "| name | state |\n| --- | --- |\n| fix | idle |\n\n- `plan`: x\n\nSee `mode`.\n\n```\n  a   b\n```"

    said = "name: fix; state: idle\n\n- plan: x\n\nSee /mode.\n\n  a   b\n"

    def in_lines(name: str, outcome: Outcome) -> None:
        LINE_FACE.set(True)
        print_outcome(line_printed(outcome, as_json=False, plain=True, aloud=True), name)

    for name, outcome, text in (
        ("agent", Outcome(None, table, plain="left out"), said),
        ("cat", Outcome(None, table), f"{table}\n"),
        ("read", Outcome(None, "```\n     1│a   b\n```"), "1: a   b\n"),
        ("agent", Outcome(None, table, plain=table), f"{table}\n"),
    ):
        for whole in (outcome, Outcome(None, "", parts=(outcome,))):
            copy_context().run(in_lines, name, whole)
            assert capfd.readouterr().out == text


_DRAWN = re.compile(r" {3}|[\u2500-\u259f\u2800-\u28ff]")


def hear_all(child: PtyChild) -> None:
    """Every word of the slash list, alone and explained, once there is something to tell of."""

    def says(line: str) -> str:
        at = len(child.output)
        child.write(f"{line}\n".encode())
        child.read_until(lambda: child.output.endswith((b"\r\nmain> ", b"[y/N] ")) and len(child.output) > at)
        said = child.output[at:].decode().replace("\r", "")
        return said + says("n") if said.endswith("[y/N] ") else said

    child.go()
    child.read_until(lambda: b"main> " in child.output)
    says("hello")
    words = re.findall(r"^/(\w+): ", says("/help"), re.MULTILINE)
    assert len(words) > 80
    ends = ("quit", "spawn", "spawn_agent", "vim", "exec", "clear")
    lines = [f"/{word}" for word in words if word not in ends]
    lines += ["/help spawn", "/session ls", "/config show ui", "/read a.txt", "/usage model", "/context", "/"]
    assert [(line, said) for line in lines if _DRAWN.search(said := says(line))] == []
    assert "number: 1; id: " in says("/session ls") and "section: tools; " in says("/context")
    child.write(b"/quit\n")
    assert child.wait() == 0


async def test_no_word_draws_or_pads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text("hi\n", encoding="utf-8")
    async with loopback("anthropic", [[Say("It is done.")]]) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        with contextlib.closing(WarmPtyChild(["--screen-reader"], tmp_path)) as child:
            await asyncio.to_thread(hear_all, child)


class Heard(Writer):
    """What would be written."""

    def __init__(self) -> None:
        self.data = b""

    def write(self, data: ShownBytes, number: int = STDOUT) -> None:
        self.data += data


@pytest.mark.parametrize("columns", [20, 61, 80])
def test_no_line_is_broken_inside_a_word(columns: int) -> None:
    text = "  One two three 日本語 " + "four " * 40 + "\n\n" + "x" * 100 + " last\nshort"
    lines = at_words(text, columns).split("\n")
    assert all(cell_len(line) <= columns or " " not in line.strip() for line in lines)
    assert " ".join(lines).split() == text.split()


@pytest.mark.parametrize("words", ["ab cd ", "日本 語 ", "e\u0301 "])
def test_a_long_line_is_broken_in_as_many_steps_as_it_has_characters(
    words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    steps = 0

    def counted(text: str) -> Iterator[int]:
        nonlocal steps
        for cell in measured(text):
            steps += 1
            yield cell

    measured = cells._widths  # pyright: ignore[reportPrivateUsage]
    monkeypatch.setattr(cells, "_widths", counted)
    text = words * 1_000 + "é"
    assert "".join(at_words(text, 40).split()) == "".join(text.split())
    assert steps < 4 * len(text)


def test_an_answer_in_pieces_is_read_line_by_line(capfd: pytest.CaptureFixture[str]) -> None:
    """And one that ends without a newline is neither joined to the next one nor printed twice."""
    heard = Heard()

    def in_lines() -> None:
        LINE_FACE.set(True)
        reporter = Reporter(heard, as_json=False)
        pieces = (("m", "x "), ("m", "="), ("m", " 1; a "), ("m", "> b"), ("m", "\n"), ("m", "\n"), ("m", "**c"))
        for message, text in (*pieces, ("m", "**"), ("n", "`d`")):
            reporter.handle_events([TextDelta(agent="main", session="s", message=message, text=text)])
        reporter.handle_events([TurnFinished(agent="main", session="s", turn="t", stop="end", text="`d`")])
        assert reporter.end(None) == exits.DONE

    copy_context().run(in_lines)
    assert heard.data == b"x = 1; a > b\n\nc\n\nd\n"


def test_what_happens_is_not_broken_inside_a_word(monkeypatch: pytest.MonkeyPatch) -> None:
    heard = Heard()
    for module in (streams, reporter):
        monkeypatch.setattr(module, "is_terminal", lambda _: True)
    monkeypatch.setattr(os, "get_terminal_size", lambda _: os.terminal_size((61, 20)))
    missing = "/home/someone/project/nothere.py does not exist. Use glob to see what is there."
    done = ToolFinished(agent="main", session="s", call="c", tool="read", status="error", content=missing)

    def in_lines() -> None:
        LINE_FACE.set(True)
        Reporter(heard, as_json=False).handle_events([done])

    copy_context().run(in_lines)
    lines = heard.data.decode().splitlines()
    assert len(lines) > 1 and all(cell_len(line) <= 61 for line in lines)
    assert missing in " ".join(lines)


def test_a_denial_is_told_to_the_person_who_denied_it(capfd: pytest.CaptureFixture[str]) -> None:
    told = f"{DENIED}{REASON}not now"
    call = ToolFinished(agent="main", session="s", call="c", tool="bash", status="denied", content=told)
    Reporter(Heard(), as_json=False).handle_events([call])
    assert capfd.readouterr().err == "gsh-tui: bash: You denied this call. Your reason: not now\n"


def test_ctrl_c_twice_ends_the_command_alone() -> None:
    async def work(stop: Stop) -> int:
        os.kill(os.getpid(), signal.SIGINT)
        await stop.asked.wait()
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.Event().wait()
        return exits.DONE

    def in_lines() -> int:
        LINE_FACE.set(True)
        return run_command(work)

    assert copy_context().run(in_lines) == exits.INTERRUPTED


def test_the_setting_opens_it(tmp_path: Path, home: Home) -> None:
    config = home.config / "gsh" / "config.toml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text("[ui]\nscreen_reader = true\n", encoding="utf-8")
    with contextlib.closing(WarmPtyChild([], tmp_path)) as child:
        child.go()
        child.read_until(lambda: b"main> " in child.output)
        child.write(b"\x04")
        assert child.wait() == 0
