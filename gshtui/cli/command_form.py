"""The forms of declared commands as plain data, from which click's commands are made without loading a declaration.

Imports nothing: the start of every call reads them (`declared_forms`).
"""

from __future__ import annotations


class FormValue:
    """One field of a command's parameters: an option, or an argument when its name has no dashes."""

    __slots__ = (
        "choices", "default", "each", "field", "help", "high", "kind", "low", "many", "metavar", "name", "piped",
        "required", "synonyms",
    )  # fmt: skip

    def __init__(
        self,
        field: str,
        name: str,
        kind: str = "text",
        *,
        help: str = "",
        metavar: str = "",
        choices: tuple[str, ...] = (),
        synonyms: tuple[tuple[str, str], ...] = (),
        low: tuple[float, bool] | None = None,
        high: tuple[float, bool] | None = None,
        default: str | float | None = None,
        many: int = 0,
        each: bool = False,
        required: bool = False,
        piped: bool = False,
    ) -> None:
        """One field.

        Args:
            field: its name in the parameters.
            name: as it is written, several with spaces between them.
            kind: `text`, `flag`, `int`, `float`, `choice`, or what a text names (`agent`, `folder` …).
            help: of an option.
            metavar: what stands for the value in the usage; empty: as click makes it.
            choices: the words that are allowed.
            synonyms: other words for a choice, each with the choice.
            low: the smallest number, and whether it is itself too small.
            high: the largest number, and whether it is itself too large.
            default: what counts when it is left out, where that is shown.
            many: words that are joined to one text; -1: all that follow, 0: it is one.
            each: it takes several values, as words or as an option that may be repeated.
            required: an argument that must be there.
            piped: `-` alone is all of standard input.
        """
        self.field = field
        self.name = name
        self.kind = kind
        self.help = help
        self.metavar = metavar
        self.choices = choices
        self.synonyms = synonyms
        self.low = low
        self.high = high
        self.default = default
        self.many = many
        self.each = each
        self.required = required
        self.piped = piped

    @property
    def is_argument(self) -> bool:
        """Whether it is given by its place."""
        return not self.name.startswith("-")


class CommandForm:
    """One command: `name` are the words that call it, `parameters` is the class that its values make."""

    __slots__ = ("help", "module", "name", "parameters", "summary", "takes_settings", "values", "yes")

    def __init__(
        self,
        name: str,
        module: str,
        parameters: str,
        *values: FormValue,
        help: str,
        summary: str = "",
        yes: str = "",
        takes_settings: bool = False,
    ) -> None:
        """One command.

        Args:
            name: the words that call it.
            module: where the class of its parameters is.
            parameters: the name of that class.
            values: its fields, arguments first.
            help: of the command.
            summary: its line in the list of commands; empty: the first sentence of the help.
            yes: help of `--yes`; empty: it asks nothing.
            takes_settings: it has `--set`.
        """
        self.name = name
        self.module = module
        self.parameters = parameters
        self.values = values
        self.help = help
        self.summary = summary
        self.yes = yes
        self.takes_settings = takes_settings


class GroupForm:
    """A family of commands, `agent`, with other words for some of its commands."""

    __slots__ = ("help", "name", "summary", "synonyms")

    def __init__(self, name: str, *, summary: str, help: str, synonyms: tuple[tuple[str, str], ...] = ()) -> None:
        self.name = name
        self.summary = summary
        self.help = help
        self.synonyms = synonyms
