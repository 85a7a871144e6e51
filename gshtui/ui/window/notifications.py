"""Notifies the person: toasts, the banner, the terminal's badge and bell, and desktop notifications.

`Notices` shows what concerns the whole window; `Attention` calls a person who is elsewhere. All text is sanitised
first; no markup. The bridge feeds both like panes.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, ClassVar, Final, Protocol

from gshtui.bus.agent_news import EVENTS, AgentCall, AgentNews
from gshtui.bus.event import Event
from gshtui.bus.events.agent_events import ModelChanged, TurnFinished
from gshtui.bus.events.approval_events import ApprovalRequested
from gshtui.bus.events.context_events import SummaryProposed
from gshtui.bus.events.hub_events import (
    FaultReported,
    Noticed,
    PartFailed,
    PartStarted,
    QuitRequested,
    SubscriberFailed,
)
from gshtui.bus.events.session_events import SessionOpened, SessionTitled
from gshtui.client.pane_names import CHAT
from gshtui.guard.approval.question_text import waiting_words
from gshtui.system.faults import Fault
from gshtui.ui.kit.textual.app_base import AppBase
from gshtui.ui.kit.textual.driver import write_sequence
from gshtui.ui.kit.textual.isolation import in_words
from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from gshtui.hub.person_notifier import PersonNotifier
    from gshtui.text.sanitise import CleanText
    from gshtui.ui.window.workbench_screen import WorkbenchScreen

PUSH_TITLE: Final = "\x1b[22;2t"
POP_TITLE: Final = "\x1b[23;2t"
_DIGEST = 8
"""Lines of what a person missed."""
_AWAY_TITLE = "While you were away"
AWAY = 60.0
"""Seconds without a key or a click after which a person is away, where the terminal does not report its focus."""


class Attention:
    """Watches for turns that end and for questions while the person is elsewhere.

    Where they are, the terminal says when it gets and loses the focus. Some never do, as tmux with its defaults; there
    a person is elsewhere who has pressed nothing for a while.
    """

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (
        *EVENTS,
        ApprovalRequested,
        SummaryProposed,
        TurnFinished,
    )

    def __init__(self, app: AppBase, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._app = app
        self._clock = clock
        self._pressed_at = clock()
        self.reports_focus = False
        """The terminal has said that it got or lost the focus."""
        self.ways: Sequence[str] = ("badge", "bell")
        """`badge`, `bell`, `desktop_notification`, as configured."""
        self.notifier: PersonNotifier | None = None
        """Decides whether to call, and calls by other means; `None` until the hub is up."""
        self._missed: list[str] = []
        """What the person was not there for."""
        self._untold = False
        """Of some of it, nothing has called them."""
        self._badged = False
        self.folder = ""
        """The folder of whose agents a resident hub leaves the calls to this window; empty: there is none."""
        # What the keeper, or a window of another folder, looks after, it tells of.
        self._news = AgentNews(lambda row: row.owner in (0, os.getpid()) or row.home == self.folder)

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        for event in events:
            name = self._news.name_of(getattr(event, "agent", ""))
            match event:
                case SummaryProposed():
                    self._elsewhere(f"{name} wants to compact its context: its summary needs your answer", name)
                case ApprovalRequested():
                    self._news.called_for(event.agent)  # notified here, not again when its row changes
                    self._elsewhere(waiting_words(event, name), name)
                case TurnFinished() if not self._news.has(event.agent):
                    self._elsewhere(f"{name} {turn_outcome(event)}", name)
                case _ if (call := self._news.call_for(event)) is not None:
                    if call.is_need:  # the header, the list of agents and the row above the input say so
                        self._elsewhere(call.text, call.agent)
                    else:
                        self._everywhere(call)
                case _:
                    pass

    def _elsewhere(self, text: str, agent: str) -> None:
        if self._is_here():
            return
        self._missed.append(text)
        if self.notifier is None or self.notifier.is_wanted(agent):
            self.call(text, agent)
        else:
            self._untold = True

    def _is_here(self) -> bool:
        if not self._app.app_focus:
            return False
        return self.reports_focus or self._clock() - self._pressed_at < AWAY

    def _everywhere(self, call: AgentCall) -> None:
        """Notify even a person who is looking at this window: the agent may be behind another tab."""
        severity = "information" if call.is_good else "warning"
        if call.replaces:
            self._app.withdraw(call.replaces)
        self._app.notify(call.text, severity=severity, markup=False, timeout=8)
        self._elsewhere(call.text, call.agent)

    def call(self, text: str, agent: str) -> None:
        """Draw attention to this in the configured ways."""
        from gshtui.text.sanitise import clean_text, one_line

        words = one_line(text, 120)
        if self.notifier is not None:
            self.notifier.send(one_line(text, 400), agent)
        if "bell" in self.ways:
            self._app.bell()
        if "desktop" in self.ways:
            self._write(desktop_notification(words))
        if "badge" in self.ways:
            before = "" if self._badged else PUSH_TITLE
            self._write(clean_text(before, "\x1b]2;● gsh-tui: ", words, "\x07"))
            self._badged = True

    def pressed(self, *, dismisses: bool = False) -> None:
        """A key or a click: the person is here. `dismisses`: it puts warnings and errors away, too."""
        self._pressed_at = self._clock()
        self._app.hide_read(dismisses=dismisses)
        if self._missed and not self.reports_focus:
            self.seen()

    def seen(self) -> None:
        """The person is back: remove the badge, and say what they missed, unless one call has said it all."""
        missed, self._missed = self._missed, []
        untold, self._untold = self._untold, False
        if len(missed) > 1 or untold:
            self._app.notify(digest(missed), title=_AWAY_TITLE, markup=False, timeout=6)
        if self._badged:
            from gshtui.text.sanitise import clean_text

            self._badged = False
            self._write(clean_text(POP_TITLE))

    def _write(self, sequence: CleanText) -> None:
        write_sequence(self._app, sequence)


def digest(missed: Sequence[str]) -> CleanText:
    """What a person missed, the newest last; a long list without its beginning."""
    from gshtui.text.sanitise import clean_text, one_line

    shown = [one_line(text, 100) for text in missed[-_DIGEST:]]
    more = [one_line(f"{len(missed) - _DIGEST} earlier ones", 40)] if len(missed) > _DIGEST else []
    first, *others = (*more, *shown)
    return clean_text(first, *(clean_text("\n", line) for line in others))


def turn_outcome(event: TurnFinished) -> str:
    """How a turn ended, in two words."""
    if event.stop == "end":
        return "is done"
    return "was interrupted" if event.stop == "interrupted" else f"stopped: {event.error or event.stop}"


def desktop_notification(text: CleanText) -> CleanText:
    """The sequence for a desktop notification; which one depends on the terminal."""
    from gshtui.text.sanitise import clean_text

    if "KITTY_WINDOW_ID" in os.environ:
        return clean_text("\x1b]99;;gsh-tui: ", text, "\x1b\\")
    if os.environ.get("TERM", "").startswith(("rxvt", "foot")) or "VTE_VERSION" in os.environ:
        return clean_text("\x1b]777;notify;gsh-tui;", text, "\x1b\\")
    return clean_text("\x1b]9;gsh-tui: ", text, "\x07")


class NoticeHost(WorkbenchPort, Protocol):
    """The window as notices need it."""

    @property
    def bench(self) -> WorkbenchScreen: ...
    async def action_quit(self) -> None: ...


class Notices:
    """The window's own subscriber."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (
        FaultReported,
        ModelChanged,
        Noticed,
        PartFailed,
        PartStarted,
        QuitRequested,
        SessionOpened,
        SessionTitled,
        SubscriberFailed,
    )

    def __init__(self, app: NoticeHost) -> None:
        self._app = app
        self._modelless: dict[str, set[str]] = {}
        """What was told of each agent that is over once it has a model."""

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        for event in events:
            self._take(event)

    def _take(self, event: Event) -> None:
        bench = self._app.bench
        match event:
            case Noticed(level="error"):
                if event.ends_with_model:
                    self._modelless.setdefault(event.about, set()).add(event.text)
                bench.banner.add_notice(_line(event.text), _line(event.hint))
            case Noticed() if event.about == self._app.front and bench.deck.front == CHAT and bench.deck.is_on_screen:
                pass  # it is a row of the conversation that the person looks at
            case Noticed():
                text = f"{_line(event.text)} {_line(event.hint)}".rstrip()
                severity = "warning" if event.level == "warning" else "information"
                self._app.notify(text, severity=severity, markup=False, timeout=8)
            case PartFailed(needs=needs) if needs:
                pass  # the part that it needs has said why
            case PartFailed():
                bench.banner.add_notice(f"{_not_running(event)} {_line(event.why)}", _line(event.hint))
            case PartStarted():
                bench.banner.remove_notice(_not_running(event))
            case ModelChanged() if event.provider != "offline":
                for text in self._modelless.pop(event.agent, ()):
                    bench.banner.remove_notice(_line(text))
            case SubscriberFailed() | FaultReported():
                self._failed(event)
            case QuitRequested():
                self._app.run_worker(self._app.action_quit(), exit_on_error=False)
            case SessionOpened(agent=agent) if agent == self._app.front:
                held = f" · read only, open in {event.held_by}" if not event.writable else ""
                bench.deck.bar.note = _line(event.title + held)
                self._session = event.session
            case SessionTitled(session=session) if session == self._session:
                bench.deck.bar.note = _line(event.title)
            case _:
                pass

    def _failed(self, event: SubscriberFailed | FaultReported) -> None:
        if isinstance(event, SubscriberFailed):
            part, doing = event.subscriber, f"while it handled {event.event}"
            fault = Fault(part, doing, _line(event.why), event.file, count=event.count)
            hint = ""
        else:
            part = f"{event.part} of agent {event.agent}" if event.agent else event.part
            fault = Fault(
                _line(part),
                _line(event.doing),
                _line(event.why),
                event.file,
                count=event.count,
                expected=event.expected,
            )
            hint = _line(event.hint)
        if fault.message and not (isinstance(event, FaultReported) and event.shown):
            self._app.notify(in_words(fault, hint), severity="error", markup=False, timeout=12)

    _session = ""
    """The conversation in front."""


def _not_running(event: PartFailed | PartStarted) -> str:
    return f"{_line(event.part)} is not running:"


def _line(text: str) -> CleanText:
    from gshtui.text.sanitise import one_line

    return one_line(text, 400)
