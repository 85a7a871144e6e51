"""What a person was told of a call when they approved it, so that it is not carried out under other circumstances.

In memory; a call that nobody was asked about has nothing to be held against. Called by `tmux` and `terminal`.
"""

from __future__ import annotations

from collections import OrderedDict

from gshtui.commands.declaration import CommandError, Invocation

_REMEMBERED = 512


class Told:
    """Circumstances by call."""

    def __init__(self) -> None:
        self._said: OrderedDict[tuple[str, str], tuple[object, str]] = OrderedDict()

    def note(self, invocation: Invocation, circumstances: object, words: str) -> None:
        """The person is asked about this call now. `words` name the circumstances in a sentence."""
        if invocation.call:
            self._said[(invocation.session, invocation.call)] = (circumstances, words)
            if len(self._said) > _REMEMBERED:
                self._said.popitem(last=False)

    def confirm(self, invocation: Invocation, circumstances: object, words: str) -> None:
        """Raise `CommandError` when they are not what they were."""
        before = self._said.pop((invocation.session, invocation.call), None) if invocation.call else None
        if before is not None and before[0] != circumstances:
            raise CommandError(
                f"When this was approved, {before[1]}; now {words}.", hint="Nothing was typed. Look, and ask again."
            )
