"""Groups of commands that also know other words for theirs, such as `list` for `ls`. The help shows one word each."""

from __future__ import annotations

import click


class Group(click.Group):
    """A click group with synonyms."""

    synonyms: dict[str, str] = {}

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        return super().get_command(ctx, self.synonyms.get(cmd_name, cmd_name))

    def knows(self, word: str) -> bool:
        """Whether this is a command of the group, by whichever word."""
        return self.synonyms.get(word, word) in self.commands


class Agents(Group):
    """`agent`."""

    synonyms = {"list": "ls", "rm": "remove", "delete": "remove"}


class Sessions(Group):
    """`session`."""

    synonyms = {"list": "ls", "remove": "rm", "delete": "rm"}
