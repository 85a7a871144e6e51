"""The forms of declared commands as plain data, so that click commands can be made without loading a declaration.

Imports nothing: every call reads them at its start (`declared_forms`).
"""

from __future__ import annotations


class FormValue:
    """One field of a command's parameters: an option, or an argument if its name has no dashes."""

    __slots__ = (
        "alone",
        "choices",
        "default",
        "each",
        "field",
        "file",
        "help",
        "high",
        "kind",
        "lines",
        "low",
        "many",
        "metavar",
        "name",
        "piped",
        "required",
        "synonyms",
        "whole",
    )

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
        file: str = "",
        lines: bool = False,
        alone: bool = False,
        whole: bool = False,
    ) -> None:
        """One field.

        Args:
            field: its name in the parameters.
            name: as typed; several names are separated by spaces.
            kind: `text`, `flag`, `int`, `float`, `choice`, or what the text names (`agent`, `folder` …).
            help: the option's help.
            metavar: the placeholder for the value in the usage; empty: click's own.
            choices: the allowed words.
            synonyms: other words for a choice, each with its choice.
            low: the lower bound, and whether the bound itself is excluded.
            high: the upper bound, and whether the bound itself is excluded.
            default: the value if the field is left out, where the help shows it.
            many: how many words are joined into one text; -1: all that follow, 0: a single word.
            each: it takes several values, as words or as a repeated option.
            required: the argument must be given.
            piped: a lone `-` means all of standard input.
            file: the option that names a file with the text instead; empty: there is none.
            lines: a lone `-` means that each line of standard input is a question of its own.
            alone: with it, the keeper is not asked.
            whole: a comma in a value does not separate two.
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
        self.file = file
        self.lines = lines
        self.alone = alone
        self.whole = whole

    @property
    def is_argument(self) -> bool:
        """Whether it is positional."""
        return not self.name.startswith("-")


class CommandForm:
    """One command: `name` is the words that call it, `parameters` the class built from its values."""

    __slots__ = ("by_keeper", "help", "module", "name", "parameters", "summary", "takes_settings", "values", "yes")

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
        by_keeper: str = "",
    ) -> None:
        """One command.

        Args:
            name: the words that call it.
            module: the module of its parameter class.
            parameters: the name of that class.
            values: its fields, arguments first.
            help: the command's help.
            summary: its line in the list of commands; empty: the first sentence of the help.
            yes: the help of `--yes`; empty: it asks nothing.
            takes_settings: it has `--set`.
            by_keeper: the progress line while the keeper does it; empty: it never does.
        """
        self.name = name
        self.module = module
        self.parameters = parameters
        self.values = values
        self.help = help
        self.summary = summary
        self.yes = yes
        self.takes_settings = takes_settings
        self.by_keeper = by_keeper

    @property
    def declared(self) -> str:
        """The class of its parameters, `module:name`."""
        return f"{self.module}:{self.parameters}"


class GroupForm:
    """A family of commands such as `agent`, with synonyms for some of them."""

    __slots__ = ("help", "name", "summary", "synonyms")

    def __init__(self, name: str, *, summary: str, help: str, synonyms: tuple[tuple[str, str], ...] = ()) -> None:
        self.name = name
        self.summary = summary
        self.help = help
        self.synonyms = synonyms
