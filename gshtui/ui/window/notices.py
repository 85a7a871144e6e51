"""What happens that concerns the window as a whole: notices, parts that fail, titles, the wish to leave.

Owns where such a word is shown (a toast for the moment, the banner for what stays); refuses markup. Fed by the bridge
like a pane.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar

from gshtui.bus.event import Event
from gshtui.bus.events.hub import FaultReported, Noticed, PartFailed, QuitRequested, SubscriberFailed
from gshtui.bus.events.session import SessionOpened, SessionTitled
from gshtui.system.faults import Fault
from gshtui.ui.kit.textual.isolation import in_words

if TYPE_CHECKING:
    from gshtui.ui.window.actions import ActingApp


class Notices:
    """The window's own subscriber."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (
        FaultReported,
        Noticed,
        PartFailed,
        QuitRequested,
        SessionOpened,
        SessionTitled,
        SubscriberFailed,
    )

    def __init__(self, app: ActingApp) -> None:
        self._app = app

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        for event in events:
            self._take(event)

    def _take(self, event: Event) -> None:
        bench = self._app.bench
        match event:
            case Noticed(level="error"):
                bench.banner.say(_line(event.text), _line(event.hint))
            case Noticed():
                text = f"{_line(event.text)} {_line(event.hint)}".rstrip()
                severity = "warning" if event.level == "warning" else "information"
                self._app.notify(text, severity=severity, markup=False, timeout=8)
            case PartFailed():
                bench.banner.say(f"{_line(event.part)} does not run: {_line(event.why)}", _line(event.hint))
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
            fault = Fault(_line(part), _line(event.doing), _line(event.why), event.file, count=event.count)
            hint = _line(event.hint)
        if fault.news and not getattr(event, "shown", False):
            self._app.notify(in_words(fault, hint), severity="error", markup=False, timeout=12)

    _session = ""
    """The conversation in front."""


def _line(text: str) -> str:
    from gshtui.guard.sanitise import one_line

    return one_line(text, 400)
