"""The window's actions on calls: choose one, show it in a tab, say something there."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from gshtui.bus.event import Event
from gshtui.bus.events.call_events import CallOpenRequested
from gshtui.ui.kit.bridge import EventConsumer
from gshtui.ui.kit.feature import Feature, FeatureRoute
from gshtui.ui.kit.widget_messages import JoinTheCall, TypesInCall
from gshtui.ui.kit.widgets.tabs import PaneTabs
from gshtui.ui.kit.workbench_port import WorkbenchPort

if TYPE_CHECKING:
    from gshtui.calls.call_values import CallListing, CallPage
    from gshtui.ui.calls.call_tab import CallTab


class CallOpenings:
    """Opens a call's tab when somebody here has joined it."""

    CONSUMES: ClassVar[tuple[type[Event], ...]] = (CallOpenRequested,)

    def __init__(self, feature: CallsFeature) -> None:
        self._feature = feature

    def consume(self, events: Sequence[Event]) -> None:
        """Take the events of one frame."""
        for event in events:
            if isinstance(event, CallOpenRequested):
                self._feature.open_soon(event.call)


class CallsFeature(Feature):
    """The shared rooms."""

    KEYS = ("app.calls",)
    OPENS = {"calls": "app.calls"}

    def __init__(self, window: WorkbenchPort) -> None:
        super().__init__(window)
        self._tabs: PaneTabs[CallTab] = PaneTabs(window.deck, "call")

    def watchers(self) -> Sequence[EventConsumer]:
        return (CallOpenings(self),)

    def routes(self) -> Sequence[FeatureRoute[Any]]:
        return (
            FeatureRoute(JoinTheCall, lambda message: self._join(message.call)),
            FeatureRoute(TypesInCall, lambda _: self._note_typing()),
        )

    def press(self, key: str) -> None:
        self.window.bring(self._pick(), group="pick", exclusive=True)

    async def _pick(self) -> bool:
        from gshtui.calls.call_values import ListCalls
        from gshtui.ui.calls.call_tab import CallsScreen

        found: CallListing | None = await self.window.result_of(ListCalls())
        if found is not None:
            self.window.push_screen(CallsScreen(found), lambda chosen: self._join(chosen or ""))
        return found is not None

    def _note_typing(self) -> None:
        async def note() -> None:
            from gshtui.calls.call_values import NoteTyping

            await self.window.result_of(NoteTyping())

        self.run_work(note(), "typing", exclusive=True)

    def _join(self, call: str) -> None:
        """Enter a call; its tab opens once that is done."""
        if call:
            from gshtui.calls.call_values import JoinCall

            self.window.perform(JoinCall(call=call))

    def open_soon(self, call: str) -> None:
        """Bring a call's tab to the front, creating it if needed; not while something is being written."""
        if self.window.is_writing:
            self.window.notify(f"You have joined {call}.", markup=False)
            return
        self.run_work(self._open(call), "calls")

    async def _open(self, call: str) -> None:
        from gshtui.ui.calls.call_tab import CallTab

        async def load(before: int | None, limit: int) -> CallPage | None:
            from gshtui.calls.call_values import ReadCall

            return await self.window.result_of(ReadCall(call=call, before=before, limit=limit))

        await self._tabs.open(call, call, lambda: CallTab(call, load))
        self.window.show_centre()
        self.window.input_line.focus()
