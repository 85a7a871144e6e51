"""The tour: a conversation that introduces the window, played as a replay. Nothing in it was said by a model."""

from __future__ import annotations

import time

from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    AgentStatusChanged,
    MessageAppended,
    TextDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
    TurnStarted,
)
from gshtui.bus.messages import Message, Text, ToolCall, ToolResult
from gshtui.features.replay.replay_player import Recording, recording
from gshtui.store.tables.session_table import SessionInfo
from gshtui.ui.kit.keys.bound_keys import printed_key
from gshtui.ui.kit.keys.key_table import KEYS

TOUR = "tour"
"""Its name in place of a conversation's."""
_WORDS_A_SECOND = 4.0
_AT_ONCE = 3
"""Words that come together."""
_READS_FOR = 2.0
"""Seconds after an answer."""
_TURNS: tuple[tuple[str, str], ...] = (
    (
        "What is this?",
        "This is a tour: a **replay** of a conversation, on the window that you will work in. {replay.pause} pauses it,"
        " {replay.next} goes to the next prompt, {replay.faster} plays faster, {app.quit} leaves.\n\n"
        "You write prompts below and read answers here. Around them are your agents, your shells, and what the model is"
        " sent.",
    ),
    (
        "run make test",
        "Each call of a tool is a line that opens to its change or its output. Before something runs that is not"
        " clearly harmless, a question with the exact command appears above the input; {mode.next} says how much runs"
        " unasked, from *plan* to *auto*.\n\nA line that begins with `!` is your own shell command."
        " Both are in the shell log.",
    ),
    (
        "What does the model see?",
        "Everything that it is sent can be read: {context.inspect} opens the **inspector**, with each part and its"
        " tokens. The timeline has a mark for each request, and each cut of the context has a receipt and can be"
        " undone.\n\n`@file` puts a file into a prompt: also a picture, a PDF or a sound. {prompt.paste} takes the"
        " picture on the clipboard.",
    ),
    (
        "I went the wrong way. Now what?",
        "{app.back} interrupts. Pressed twice in an empty input, it lists your prompts: choose one to go back to, with"
        " the files as they were. `/redo` undoes that, `/fork` goes on beside it.",
    ),
    (
        "And more agents?",
        "{agents.spawn} starts another one in a terminal of its own: one of ours, or Claude Code, Codex and others."
        " They go on when you leave the window. {panes.agents} lists them, {agents.waiting} goes to the next one that"
        " waits for you.",
    ),
    (
        "Where do I look things up?",
        "{app.palette} finds every action, {app.help} shows the keys that work where you are, and {app.settings} all"
        " settings. `gsh-tui doctor` says what is missing on this machine.\n\nThat was the tour. {app.quit} leaves it.",
    ),
)


def tour() -> Recording:
    """The recording."""
    info = SessionInfo(TOUR, "The tour", "", "main", "", "", 0.0, 0.0, 2 * len(_TURNS))
    events: list[Event] = []
    at = time.time()
    for number, (prompt, answer) in enumerate(_TURNS):
        made, at = _turn(number, prompt, _with_keys(answer), at)
        events += made
    return recording(info, events)


def _with_keys(text: str) -> str:
    """The text with the keys of the key table in place of their ids."""
    for id, key in KEYS.items():
        text = text.replace(f"{{{id}}}", f"`{printed_key(key.keys.split(',')[0])}`")
    return text


def _turn(number: int, prompt: str, answer: str, at: float) -> tuple[list[Event], float]:
    """The events of a turn from a time on, and when the next one begins."""
    turn, asked, said = f"tour-{number}", f"tour-{number}p", f"tour-{number}a"
    question = Message(asked, "user", (Text(prompt),), at=at, turn=turn)
    events: list[Event] = [
        TurnStarted(at=at, agent="main", session=TOUR, turn=turn, prompt=asked, text=prompt),
        MessageAppended(at=at, agent="main", session=TOUR, message=question),
        AgentStatusChanged(at=at, agent="main", status="thinking"),
    ]
    at += 1.0
    if prompt.startswith("run "):
        command, printed, call = prompt.removeprefix("run "), "214 passed", f"{said}c"
        calls = Message(f"{said}0", "assistant", (ToolCall(call, "bash", {"command": command}),), at=at, turn=turn)
        result = ToolResult(call, "bash", printed, duration=1.2)
        events += [
            MessageAppended(at=at, agent="main", session=TOUR, message=calls),
            ToolStarted(at=at, agent="main", session=TOUR, message=calls.id, call=call, tool="bash", subject=command),
            ToolFinished(
                at=at + 1.2,
                agent="main",
                session=TOUR,
                call=call,
                tool="bash",
                status="ok",
                content=printed,
                duration=1.2,
            ),
            MessageAppended(
                at=at + 1.2,
                agent="main",
                session=TOUR,
                message=Message(f"{said}1", "tool", (result,), at=at + 1.2, turn=turn),
            ),
        ]
        at += 1.5
    words = answer.split(" ")
    for start in range(0, len(words), _AT_ONCE):
        piece = "".join(f"{word} " for word in words[start : start + _AT_ONCE])
        events.append(TextDelta(at=at, agent="main", session=TOUR, message=said, text=piece))
        at += _AT_ONCE / _WORDS_A_SECOND
    whole = Message(said, "assistant", (Text(answer),), at=at, turn=turn)
    events += [
        MessageAppended(at=at, agent="main", session=TOUR, message=whole),
        TurnFinished(at=at, agent="main", session=TOUR, turn=turn, stop="end", duration=at - question.at),
        AgentStatusChanged(at=at, agent="main", status="idle"),
    ]
    return events, at + _READS_FOR
