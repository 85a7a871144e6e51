"""What a person or a script sees of a turn without a window: reduces its events to lines.

Text goes to stdout as it arrives, progress to stderr if that is a terminal, complaints always to stderr. With JSON
every event is a line, and `TurnFinished` is the last one even if there was no turn. Called by `prompt`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from gshtui.bus.context_data import compacted
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import (
    ProviderRetried,
    TextDelta,
    ThinkingDelta,
    ToolFinished,
    ToolStarted,
    TurnFinished,
)
from gshtui.bus.events.approval_events import ApprovalSettled, denied_by_you
from gshtui.bus.events.context_events import ContextCut
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.bus.wire import VERSION, to_plain
from gshtui.commands.known_tools import DOES
from gshtui.headless import exits
from gshtui.headless.streams import (
    LINE_FACE,
    STDERR,
    STDOUT,
    ShownBytes,
    Writer,
    broken_at_words,
    complaint,
    draws,
    is_terminal,
    json_line,
    own,
    shown,
    write_all,
)
from gshtui.headless.turns.familiar_output import Output, familiar_lines
from gshtui.text.plain_reading import PlainReading
from gshtui.text.sanitise import Sanitiser, one_line, plain

_ALLOW = "--yes allows, without asking, what fits in the sandbox or clearly stays inside the project."
_LOOKS = frozenset(("read", "search", "list"))
_EXIT = re.compile(r"^\[exit code: (\d++).*\]\n?", re.MULTILINE)
_STOPS = {exits.INTERRUPTED: "interrupted", exits.TIMED_OUT: "timeout"}


def failure_words(event: ToolFinished) -> str:
    """Why a call failed: its exit code, and the last line that it printed, or what was wrong."""
    code = _EXIT.search(event.content)
    lines = [line.strip() for line in _EXIT.sub("", event.content).splitlines() if line.strip()]
    cause = one_line(lines[-1 if code else 0], 300) if lines else ""
    how = "failed" if event.status == "error" else event.status
    return ": ".join(filter(None, (f"{how}, exit code {code[1]}" if code else how, cause)))


class Reporter:
    """Takes the events of one turn, in order."""

    def __init__(self, writer: Writer, *, as_json: bool, output: Output = "text") -> None:
        """`output`: whose lines are printed in place of text or our own."""
        self._writer = writer
        self._json = as_json or output != "text"
        self._lines = None if output == "text" else familiar_lines(output)
        self._session = ""
        self._message = ""
        self._said = False
        self._mid_line = False
        self._denied: dict[str, str] = {}
        self._turn: TurnFinished | None = None
        self._sanitiser = Sanitiser() if is_terminal(STDOUT) and not self._json else None
        self._progress = is_terminal(STDERR) and not self._json
        self._dim = draws() and not os.environ.get("NO_COLOR")
        self._by_line = not draws()
        """Whole lines alone are written, as far as there is something to wait for."""
        self._reading = PlainReading(partial(broken_at_words, terminal=STDOUT)) if LINE_FACE.get() else None
        self._unread: list[str] = []
        """The start of a line that is read once it is whole."""
        self._subjects: dict[str, str] = {}
        """What the calls that only look are about: their end is told in one line with it."""
        self._thinking = False
        self._complaint = ""
        """The last one."""

    def print_text(self, text: str) -> None:
        """Print somebody else's text on stderr, in order with the answer."""
        self._to_stderr(shown(text, STDERR))

    def print_result(self, text: str) -> None:
        """Print text in front of the answer."""
        self._writer.write(shown(text, STDOUT))

    def note(self, text: str) -> None:
        """Tell a person who watches how far it is."""
        self._note(text)

    def wait_until_said(self, over: Callable[[], bool]) -> None:
        """Wait until the text of `print_text` is on the terminal, or `over` returns true. Blocks: use a thread."""
        self._writer.wait(over)

    def handle_events(self, events: Sequence[Event]) -> None:
        """Take a batch of events from the bus."""
        for event in events:
            if self._turn is not None:  # the turn's end is the last line
                return
            self._handle_event(event)
            if self._lines is not None:
                for line in self._lines.lines(event):
                    self._writer.write(json_line(line))
            elif self._json and not isinstance(event, TurnFinished):
                self._writer.write(json_line(to_plain(event)))

    def _handle_event(self, event: Event) -> None:
        match event:
            case TextDelta():
                self._text(event)
            case ThinkingDelta() if not self._thinking:
                self._thinking = True
                self._note("thinking …")
            case ToolStarted() if DOES.get(event.tool) in _LOOKS:
                self._subjects[event.call] = event.subject
            case ToolStarted():
                self._note(f"{event.tool} {event.subject}".rstrip())
            case ToolFinished():
                self._tool_ended(event)
            case ContextCut() if event.receipt.kind in ("compact", "clear"):
                self._note(compacted(event.receipt), "")
            case ApprovalSettled() if event.decision in ("deny", "nobody"):
                self._denied[event.call] = _ALLOW if event.decision == "nobody" else ""
            case ProviderRetried():
                self._note(f"{event.provider}: {event.why} Trying again in {event.wait:g} s.")
            case SessionOpened():
                self._session = event.session
            case Noticed() if event.about != "settings" and event.level != "info":
                self.complain(event.text, event.hint)
            case TurnFinished():
                self._turn = event
            case _:
                pass

    def end(self, ended: int | None, *, unread: bool = False) -> int:
        """Print how the turn ended; returns the exit code. `ended`: the code if something cut it short."""
        turn = self._turn
        code = ended if ended is not None else self._code(turn)
        if ended is not None and turn is not None and turn.stop != "interrupted":
            code = self._code(turn)  # it was done before it could be stopped
        if self._sanitiser is not None:
            self._out(self._read(self._sanitiser.finish()))
        self._out(self._read_rest())
        if not self._json and turn is not None and turn.text and not self._said:
            self._out(self._read(turn.text))
        self._line_end()
        if not unread:
            self._say_end(turn, code)
        if self._lines is not None:
            for line in self._lines.last_lines(turn, code, self._complaint):
                self._writer.write(json_line(line))
        elif self._json:
            self._writer.write(json_line(self._last_line(turn, code)))
        return code

    def close(self) -> None:
        """End the output, with the cursor at the start of a line."""
        self._line_end()

    def _code(self, turn: TurnFinished | None) -> int:
        if turn is None:
            return exits.ERROR
        if turn.stop == "interrupted":
            return exits.INTERRUPTED
        if turn.stop == "error" and turn.error_kind in exits.UNREACHABLE_KINDS:
            return exits.UNREACHABLE
        if self._denied:
            return exits.DENIED
        return exits.ERROR if turn.stop in ("error", "refusal", "context", "max_iterations") else exits.DONE

    def _say_end(self, turn: TurnFinished | None, code: int) -> None:
        if code == exits.TIMED_OUT:
            self.complain("timed out; the answer so far is saved.")
        elif code == exits.INTERRUPTED:
            self.complain("interrupted; the answer so far is saved.")
        elif turn is not None and turn.stop == "error":
            self.complain(turn.error, turn.hint)
        elif turn is not None and turn.stop == "max_iterations":
            self.complain("the agent was stopped before it was done.", turn.hint)
        elif turn is not None and turn.stop == "max_tokens":
            self.complain("the answer reached the maximum length and was cut off; see the provider's `max_tokens`.")
        elif turn is not None and turn.stop in ("refusal", "context"):
            self.complain(f"the model stopped: {turn.error or turn.stop}", turn.hint)

    def _last_line(self, turn: TurnFinished | None, code: int) -> dict[str, Any]:
        plain: dict[str, Any] = {"v": VERSION, "type": "TurnFinished", "session": self._session, "text": ""}
        plain |= {"stop": _STOPS.get(code, "error"), "usage": {}}
        if turn is not None:
            plain |= to_plain(turn)
        if code in _STOPS:
            plain["stop"] = _STOPS[code]
        plain["usage"] = {"input": 0, "output": 0, "cache_read": 0, "cache_write": 0, "reasoning": 0} | plain["usage"]
        return plain | {"exit": code}

    def _text(self, event: TextDelta) -> None:
        if self._json:
            return
        if self._message and self._message != event.message:
            self._line_end()
            if self._said:
                self._feed("\n")
        self._message = event.message
        self._feed(event.text)

    def _feed(self, text: str) -> None:
        if self._sanitiser is not None:
            # The sanitiser decides line by line; `flush` shows the start of an unfinished line as it arrives.
            text = self._sanitiser.feed(text) + ("" if self._by_line else self._sanitiser.flush())
        self._out(self._read(text))

    def _read(self, text: str) -> str:
        """Whole lines as they are read aloud, where they are; else as they are."""
        if self._reading is None:
            return text
        whole, ends, rest = text.rpartition("\n")
        if not ends:
            self._unread.append(rest)
            return ""
        whole = "".join((*self._unread, whole))
        self._unread = [rest]
        lines = map(self._reading.line, whole.split("\n"))
        return "".join(f"{line}\n" for line in lines if line is not None)

    def _read_rest(self) -> str:
        """The line that has not ended."""
        rest = "".join(self._unread)
        self._unread.clear()
        if self._reading is None:
            return ""
        said = self._reading.line(rest) if rest else None
        return "\n".join(filter(None, (said, self._reading.rest())))

    def _out(self, text: str) -> None:
        if text:
            self._said = True
            self._mid_line = not text.endswith("\n")
            self._writer.write(shown(text, STDOUT))

    def _line_end(self) -> None:
        if self._by_line and self._sanitiser is not None:
            self._out(self._read(self._sanitiser.flush()))
        self._out(self._read_rest())
        if self._mid_line and not self._json:
            self._mid_line = False
            self._writer.write(own("\n"))

    def _tool_ended(self, event: ToolFinished) -> None:
        if event.status == "denied":
            hint = self._denied.setdefault(event.call, "")
            self.complain(f"{event.tool}: {denied_by_you(event.content)}", hint)
        else:
            call = f"{event.tool} {self._subjects.pop(event.call, '')}".rstrip()
            how = event.status if event.status == "ok" else failure_words(event)
            self._note(f"{call}: {how} ({event.duration:.1f} s)")

    def _note(self, text: str, mark: str = "· ") -> None:
        """Progress, for a person who is watching."""
        if not self._progress:
            return
        line = plain(f"{mark}{text}".replace("\n", " "))
        said = own("\x1b[2m", line, "\x1b[0m\n") if self._dim else shown(f"{broken_at_words(line, STDERR)}\n", STDERR)
        self._to_stderr(said)

    def complain(self, text: str, hint: str = "") -> None:
        """Print what is wrong, and what to do."""
        self._complaint = text
        self._to_stderr(complaint(text, hint))

    def _to_stderr(self, data: ShownBytes) -> None:
        """Write in order with the text if both go to a terminal; else at once, even if the text's reader pauses."""
        self._line_end()
        if is_terminal(STDOUT):
            self._writer.write(data, STDERR)
        else:
            with suppress(OSError):
                write_all(STDERR, data)
