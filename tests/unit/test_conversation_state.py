"""The conversation's reducer: the same entries, whether a message comes as deltas, whole, both, or from the store."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gshtui.bus.context_data import Receipt
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    IterationStarted,
    MessageAppended,
    ModelChanged,
    ProviderRetried,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolOutput,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.events.approval_events import ApprovalRequested, ApprovalSettled
from gshtui.bus.events.context_events import ContextCut, CutUndone
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.events.shell_events import InputCommandFinished, InputCommandPrinted, InputCommandStarted
from gshtui.bus.messages import Image, Message, Text, Thinking, ToolCall, ToolResult, Usage
from gshtui.bus.shell_data import Ran, ShellRecord
from gshtui.ui.conversation.conversation_state import ConversationState, older_operations
from gshtui.ui.kit.transcript.entries import (
    AnswerEntry,
    Clear,
    CutEntry,
    Entry,
    NoticeEntry,
    Operation,
    Prepend,
    PromptEntry,
    Put,
    Remove,
    Stream,
    ThoughtEntry,
    ToolEntry,
)

WHO: dict[str, Any] = {"agent": "main", "session": "s"}


class Screen:
    """What a transcript would show: entries in order, by the operations' own meaning."""

    def __init__(self) -> None:
        self.entries: dict[str, Entry] = {}

    def apply(self, operations: Iterable[Operation]) -> None:
        for operation in operations:
            match operation:
                case Put(entry):
                    self.entries[entry.id] = entry
                case Stream(id, text):
                    entry = self.entries[id]
                    assert isinstance(entry, (AnswerEntry, ThoughtEntry)) and entry.live
                    self.entries[id] = type(entry)(id, entry.text + text, live=True)
                case Remove(id):
                    self.entries.pop(id, None)
                case Prepend(entries):
                    assert not {entry.id for entry in entries} & set(self.entries)
                    self.entries = {entry.id: entry for entry in entries} | self.entries
                case Clear():
                    self.entries.clear()


def played(*events: Event, state: ConversationState | None = None) -> list[Entry]:
    """What is shown after these events."""
    screen, state = Screen(), state or ConversationState("main", "s")
    for event in events:
        screen.apply(state.apply_event(event))
    return list(screen.entries.values())


def text(words: str, message: str = "m", at: float = 0.0) -> TextDelta:
    return TextDelta(message=message, text=words, at=at, **WHO)


def thinking(words: str, at: float = 0.0) -> ThinkingDelta:
    return ThinkingDelta(message="m", text=words, at=at, **WHO)


def whole(*blocks: object, id: str = "m", **fields: Any) -> MessageAppended:
    return MessageAppended(message=Message(id, "assistant", tuple(blocks), **fields), **WHO)  # type: ignore[arg-type]


CALL = ToolCall("c1", "read", {"path": "a.py"})
RESULT = ToolResult("c1", "read", "words", duration=1.5, bytes=5)
STARTED = ToolStarted(message="m", call="c1", tool="read", arguments={"path": "a.py"}, subject="a.py", **WHO)
FINISHED = ToolFinished(call="c1", tool="read", status="ok", content="words", duration=1.5, bytes=5, **WHO)
RESULTS = MessageAppended(message=Message("m-results", "tool", (RESULT,)), **WHO)
DONE = ToolEntry("m/c1", "read", "a.py", {"path": "a.py"}, "ok", "words", duration=1.5, bytes=5)


def test_a_prompt_is_shown_once_whatever_tells_of_it() -> None:
    prompt = MessageAppended(message=Message("p", "user", (Text("hello"),)), **WHO)
    started = TurnStarted(turn="t", prompt="p", text="hello", **WHO)
    assert played(started, prompt) == played(prompt, started) == [PromptEntry("p", "hello")]


def test_attachments_are_named() -> None:
    image = Image("image/png", "A" * 40_000, "shot.png")
    (prompt,) = played(MessageAppended(message=Message("p", "user", (Text("see"), image)), **WHO))
    assert prompt == PromptEntry("p", "see", ("shot.png (30 kB)",))


def test_deltas_stream_and_the_message_ends_them() -> None:
    assert played(text("Hel"), text("lo")) == [AnswerEntry("m.0a", "Hello", live=True)]
    assert played(text("Hel"), text("lo"), whole(Text("Hello"))) == [AnswerEntry("m.0a", "Hello")]
    assert played(whole(Text("Hello"))) == [AnswerEntry("m.0a", "Hello")]


def test_a_late_or_repeated_word_changes_nothing() -> None:
    assert played(text("Hello"), whole(Text("Hello")), text("Hello"), whole(Text("Hello"))) == [
        AnswerEntry("m.0a", "Hello")
    ]


def test_a_thought_is_followed_by_the_answer_and_says_how_long_it_took() -> None:
    live = played(thinking("hm", at=10.0), thinking(" well", at=11.0), text("So", at=13.0))
    assert live == [ThoughtEntry("m.0t", "hm well", seconds=3.0), AnswerEntry("m.1a", "So", live=True)]
    end = played(thinking("hm", at=10.0), text("So", at=13.0), whole(Thinking("hm"), Text("So"), at=15.0))
    assert end == [ThoughtEntry("m.0t", "hm", seconds=3.0), AnswerEntry("m.1a", "So")]


def test_the_stored_message_wins_over_its_deltas() -> None:
    shown = played(text("a"), thinking("b"), text("c"), whole(Thinking("b"), Text("ac"), stop="interrupted"))
    assert {entry.id: getattr(entry, "text", "") for entry in shown} == {"m.0t": "b", "m.1a": "ac"}


def test_a_call_from_asked_to_done() -> None:
    asked = played(whole(CALL))
    assert asked == [ToolEntry("m/c1", "read", "a.py", {"path": "a.py"}, "asked")]
    waiting = ApprovalRequested(approval="a", call="c1", tool="read", effect="read", subject="a.py", **WHO)
    settled = ApprovalSettled(approval="a", agent="main", call="c1", decision="once")
    output = ToolOutput(call="c1", text="wor", **WHO)
    statuses = []
    for events in ([STARTED], [STARTED, waiting], [STARTED, waiting, settled], [STARTED, output]):
        (tool,) = played(whole(CALL), *events)
        assert isinstance(tool, ToolEntry)
        statuses.append((tool.status, tool.output))
    assert statuses == [("running", ""), ("asked", ""), ("running", ""), ("running", "wor")]
    for events in (
        [whole(CALL), STARTED, output, FINISHED],
        [STARTED, whole(CALL), FINISHED, RESULTS],
        [whole(CALL), RESULTS],
    ):
        assert played(*events) == [DONE]


def test_the_output_of_a_running_call_is_kept_short() -> None:
    (tool,) = played(whole(CALL), STARTED, *[ToolOutput(call="c1", text="x" * 5_000, **WHO)] * 10)
    assert isinstance(tool, ToolEntry) and len(tool.output) == 8_000


def test_a_broken_call_shows_what_arrived() -> None:
    (tool,) = played(whole(ToolCall("c1", "read", broken='{"pa')))
    assert isinstance(tool, ToolEntry) and tool.arguments == {"arguments": '{"pa'}


def test_the_same_call_id_in_two_messages_is_two_calls() -> None:
    shown = played(whole(CALL), FINISHED, whole(CALL, id="n"))
    assert shown == [DONE, ToolEntry("n/c1", "read", "a.py", {"path": "a.py"}, "asked")]


def test_how_a_turn_ends() -> None:
    def end(*before: Event, **fields: Any) -> NoticeEntry:
        *_, notice = played(*before, TurnFinished(turn="t", **(WHO | {"stop": "end"} | fields)))  # type: ignore[arg-type]
        assert isinstance(notice, NoticeEntry)
        return notice

    waited = end(duration=193.2, waited=190.0, usage=Usage(input=15, output=20))
    assert waited.text == "3.2 s working · 3 min 10 s waiting for you · 15 tokens in · 20 out"
    done = end(duration=3.4, waited=0.2, usage=Usage(input=1_500, output=20, cache_read=500), cost=0.0312)
    assert (done.level, done.text) == ("quiet", "3.2 s · 2k tokens in · 20 out · $0.03")
    no_model = ModelChanged(agent="main", provider="offline", model="offline")
    assert end(no_model, duration=3.4, usage=Usage(input=15, output=20)).text == "3.4 s"
    assert (end(stop="interrupted").level, end(stop="interrupted").text) == ("quiet", "Interrupted here.")
    failed = end(stop="error", error="The key was refused.", hint="Set it.")
    assert (failed.level, failed.text, failed.hint) == ("error", "The key was refused.", "Set it.")
    assert end(stop="max_iterations", hint="Say it.").hint == "Say it."


def test_what_still_runs_at_the_end_of_a_turn_is_closed() -> None:
    tool, answer, _ = played(STARTED, text("half"), TurnFinished(turn="t", stop="interrupted", **WHO))
    assert isinstance(tool, ToolEntry) and tool.status == "cancelled"
    assert answer == AnswerEntry("m.0a", "half")


def test_retries_take_one_line() -> None:
    begun = IterationStarted(turn="t", iteration=1, message="m", **WHO)
    retries = [ProviderRetried(agent="main", provider="p", attempt=n, wait=4, why="It is busy.") for n in (1, 2)]
    (notice,) = played(begun, *retries)
    assert isinstance(notice, NoticeEntry)
    assert notice.text == "It is busy."
    answered = played(begun, *retries, text("At last"))
    assert [type(entry) for entry in answered] == [AnswerEntry], "it went through: nobody needs to know any more"
    (end,) = played(begun, *retries, TurnFinished(turn="t", stop="error", error="It is busy.", **WHO))
    assert isinstance(end, NoticeEntry) and end.level == "error"


def test_another_model_is_said_only_when_it_changes_in_the_middle() -> None:
    def model(label: str) -> ModelChanged:
        return ModelChanged(agent="main", provider="p", model="m", label=label)

    assert played(model("One"), model("Two")) == []
    *_, notice = played(model("One"), text("x"), model("One"), model("Two"))
    assert isinstance(notice, NoticeEntry) and notice.text == "From here on: Two"


def test_only_its_own_agent_and_session_count() -> None:
    other = TextDelta(agent="other", session="s", message="m", text="x")
    elsewhere = TextDelta(agent="main", session="z", message="m", text="x")
    assert played(other, elsewhere, Noticed(text="disk", about="store")) == []
    assert [entry.id for entry in played(Noticed(text="held", about="main"))] == ["notice1"]


def test_another_conversation_begins_empty() -> None:
    opened = SessionOpened(session="new", agent="main")
    state = ConversationState("main", "s")
    assert played(text("x"), opened, state=state) == []
    assert state.session == "new" and not state.shown


def stored(count: int) -> list[Message]:
    """A stored conversation: prompt, answer with a thought and a call, result; again and again."""
    messages: list[Message] = []
    for n in range(count):
        messages += [
            Message(f"p{n}", "user", (Text(f"prompt {n}"),)),
            Message(
                f"a{n}", "assistant", (Thinking("hm"), Text(f"answer {n}"), ToolCall(f"c{n}", "read", {"path": "x"}))
            ),
            Message(f"r{n}", "tool", (ToolResult(f"c{n}", "read", f"result {n}"),)),
        ]
    return messages


def loaded(messages: Sequence[Message], pages: Sequence[int]) -> list[Entry]:
    """What is shown after pages of these sizes were loaded, the newest first, and then the rest."""
    screen, state = Screen(), ConversationState("main", "s")
    rest = list(messages)
    for size in [*pages, len(messages)]:
        page, rest = rest[len(rest) - size if size < len(rest) else 0 :], rest[: max(0, len(rest) - size)]
        screen.apply(older_operations(state, page))
    return list(screen.entries.values())


@given(st.lists(st.integers(1, 7), max_size=8))
@settings(deadline=None)
def test_pages_of_any_size_show_the_same(pages: list[int]) -> None:
    assert loaded(stored(5), pages) == loaded(stored(5), [])


def test_history_looks_as_it_did_when_it_was_said() -> None:
    messages = stored(3)
    said = played(*(MessageAppended(message=message, **WHO) for message in messages))
    assert loaded(messages, [4]) == said


def test_a_message_that_comes_while_its_page_is_loaded_is_shown_once() -> None:
    screen, state = Screen(), ConversationState("main", "s")
    messages = stored(2)
    screen.apply(state.apply_event(MessageAppended(message=messages[-2], **WHO)))
    screen.apply(older_operations(state, messages))
    ids = list(screen.entries)
    assert ids == ["p0", "a0.0t", "a0.1a", "a0/c0", "p1", "a1.0t", "a1.1a", "a1/c1"]
    assert isinstance(tool := screen.entries["a1/c1"], ToolEntry) and tool.output == "result 1"


def test_a_stored_call_without_a_result_and_a_stored_stop_are_said() -> None:
    *_, tool, notice = loaded([Message("a", "assistant", (CALL,), stop="interrupted")], [])
    assert isinstance(tool, ToolEntry) and tool.status == "lost"
    assert isinstance(notice, NoticeEntry) and notice.text == "Interrupted here."


# Commands of the input line


def ran(number: int, at: float, *, exit: int | None = 0, state: str = "done") -> Ran:
    record = ShellRecord(shell="window-s", number=number, command=f"make {number}", at=at, exit=exit, state=state)  # type: ignore[arg-type]
    return Ran(f"window-s.{number}", record, f"made {number}")


BEGUN = InputCommandStarted(run="r", command="make test\n  all", **WHO)


def test_a_command_of_the_person_is_shown_as_it_runs() -> None:
    (running,) = played(BEGUN, InputCommandPrinted(run="r", text="one\n", **WHO))
    assert isinstance(running, ToolEntry) and running.by_person and running.live
    assert (running.name, running.subject, running.output) == ("!", "make test", "one\n")
    assert running.arguments == {"command": "make test\n  all"}
    ended = InputCommandFinished(run="r", status="error", text="one\ntwo", exit=2, duration=1.5, **WHO)
    (done,) = played(BEGUN, InputCommandPrinted(run="r", text="one\n", **WHO), ended)
    assert isinstance(done, ToolEntry) and not done.live
    assert (done.status, done.word, done.output, done.duration) == ("error", "exit 2", "one\ntwo", 1.5)


def test_the_end_of_a_turn_does_not_end_a_command_of_the_person() -> None:
    entries = played(BEGUN, TurnFinished(turn="t", stop="interrupted", **WHO))
    assert [entry.live for entry in entries if isinstance(entry, ToolEntry)] == [True]


def test_commands_of_other_conversations_are_not_shown() -> None:
    assert played(InputCommandStarted(run="r", command="ls", agent="main", session="other")) == []
    assert played(InputCommandPrinted(run="unknown", text="x", **WHO)) == []


def test_stored_commands_stand_where_they_were_run() -> None:
    said = [Message(f"m{n}", "user", (Text(f"p{n}"),), at=n * 10.0) for n in (1, 2)]
    state, screen = ConversationState("main", "s"), Screen()
    screen.apply(
        older_operations(state, said, [ran(1, 5.0), ran(2, 15.0, exit=3), ran(3, 25.0, exit=None, state="lost")])
    )
    entries = list(screen.entries.values())
    assert [entry.id for entry in entries] == ["run/window-s.1", "m1", "run/window-s.2", "m2", "run/window-s.3"]
    tools = [entry for entry in entries if isinstance(entry, ToolEntry)]
    assert [(tool.status, tool.word, tool.output) for tool in tools] == [
        ("ok", "", "made 1"),
        ("error", "exit 3", "made 2"),
        ("lost", "", "made 3"),
    ]


def test_one_that_still_runs_when_its_conversation_is_opened_again_goes_on() -> None:
    state, screen = ConversationState("main", "s"), Screen()
    screen.apply(older_operations(state, [], [ran(1, 5.0, exit=None, state="running")]))
    screen.apply(state.apply_event(InputCommandFinished(run="window-s.1", status="ok", text="all", exit=0, **WHO)))
    (tool,) = screen.entries.values()
    assert isinstance(tool, ToolEntry) and (tool.status, tool.output) == ("ok", "all")


def test_a_cut_leaves_a_line_and_its_undoing_takes_it_away() -> None:
    screen, state = Screen(), ConversationState("main", "s")
    receipt = Receipt("compact", "main", "s", id="c1", tokens_before=175_000, tokens_after=2_500)
    prune = Receipt("prune", "main", "s", id="p1", tokens_before=9, tokens_after=5)
    for one in (receipt, prune):
        screen.apply(state.apply_event(ContextCut(**WHO, receipt=one)))
    assert list(screen.entries.values()) == [
        CutEntry("cut/c1", "c1", "Compacted 175k → 2.5k tokens"),
        CutEntry("cut/p1", "p1", "Pruned 9 → 5 tokens"),
    ]
    screen.apply(state.apply_event(CutUndone(**WHO, cut="p1")))
    screen.apply(state.apply_event(CutUndone(**WHO, cut="c1")))
    assert screen.entries == {}


def test_cuts_of_the_record_stand_where_they_were_made_and_once() -> None:
    screen, state = Screen(), ConversationState("main", "s")
    cuts = [Receipt("compact", "main", "s", id=f"c{n}", at=at) for n, at in enumerate((-1.0, 15.0, 99.0))]
    screen.apply(state.apply_event(ContextCut(**WHO, receipt=cuts[2])))
    messages = [Message(f"m{n}", "user", (Text(f"prompt {n}"),), at=10.0 * n) for n in range(3)]
    screen.apply(older_operations(state, messages, [ran(1, 12.0)], cuts))
    shown = list(screen.entries)
    assert shown == ["cut/c0", "m0", "m1", "run/window-s.1", "cut/c1", "m2", "cut/c2"]


def test_only_an_output_that_was_cut_says_so() -> None:
    state = ConversationState("main", "s")
    for call, key in (("a", ""), ("b", "k")):
        state.apply_event(ToolStarted(**WHO, message="m", call=call, tool="bash", arguments={"command": "x"}))
        state.apply_event(ToolFinished(**WHO, call=call, tool="bash", status="ok", content="hi", bytes=151, output=key))
        assert state.calls[call].cut == bool(key)
    for cut in (False, True):
        state.apply_event(InputCommandStarted(**WHO, run="r", command="x", cwd="/"))
        put = list(state.apply_event(InputCommandFinished(**WHO, run="r", status="ok", text="hi", bytes=151, cut=cut)))
        assert [one.entry.cut for one in put if isinstance(one, Put) and isinstance(one.entry, ToolEntry)] == [cut]
