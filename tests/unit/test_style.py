"""What `.github/STYLE.md` asks of the words that people read, as far as a test can tell."""

import ast
import re
from pathlib import Path

from gshtui.ui.kit.keys.bound_keys import printed_key
from gshtui.ui.kit.keys.key_table import KEYS
from gshtui.ui.settings.setting_rows import ORDER
from gshtui.ui.window.help import help_text, other_rows
from tests.kit import source

_SAYS = re.compile(r"(?:\b(?:enter|escape|esc)|\{[a-z]+\.[a-z_]+\}) (?!is\b|was\b|has\b|keys\b)[a-z]+s\b")
"""A key that does something, in the third person."""


def written(path: Path) -> list[str]:
    """The texts in a module that are no docstrings, with what is filled in as `…`."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    first = [node.body[0] for kind in owners for node in source.nodes(path, kind) if node.body]
    documented = {id(node.value) for node in first if isinstance(node, ast.Expr)}
    constants = source.nodes(path, ast.Constant)
    return [node.value for node in constants if isinstance(node.value, str) and id(node) not in documented]


def test_labels_are_short_and_help_is_a_phrase() -> None:
    labels = [label for key in KEYS.values() for label in (key.label, key.name)]
    assert [one for one in labels if len(one.split()) > 3 or not one[:1].isupper() or one.endswith(".")] == []
    third = re.compile(r"(?:Shows|Opens|Closes|Goes|Moves|Lets|Lists|Looks)\b")
    helped = [key.help for key in KEYS.values()]
    assert [one for one in helped if not one[:1].isupper() or one.endswith(".") or third.match(one)] == []


def test_hints_say_what_a_key_is_to_do() -> None:
    """`enter to select`, not `enter selects`, wherever keys are listed beside each other."""
    found = [
        f"{source.name(path)}: {text}"
        for path in source.files()
        if "ui" in path.parts
        for text in written(path)
        if " · " in text and _SAYS.search(text)
    ]
    assert found == []
    assert _SAYS.search("{list.choose} sets it · {list.close} closes") and _SAYS.search("enter denies · esc goes")


_KEYED = re.compile(
    r"(?:\{key\}|\{[a-z]+\.[a-z_]+\}|\b(?:alt|ctrl|shift)\+\S+|\bF\d+|(?<!\S)/[a-z]+|· [a-zA-Z])"
    r" (?!is\b|was\b|has\b|keys\b)[a-z]{2,}(?<!s)s\b"
)
"""A key or a command that does something, in the third person."""


def said(path: Path) -> list[str]:
    """The texts in a module, filled in: `{key}` for a key, `…` for all else."""
    parts = {id(part) for text in source.nodes(path, ast.JoinedStr) for part in text.values}
    whole = [
        "".join(
            str(part.value) if isinstance(part, ast.Constant) else "{key}" if "key" in ast.unparse(part) else "…"
            for part in text.values
        )
        for text in source.nodes(path, ast.JoinedStr)
    ]
    plain = [node.value for node in source.nodes(path, ast.Constant) if id(node) not in parts]
    return [*whole, *(text for text in plain if isinstance(text, str) and text in written(path))]


def test_a_key_is_to_do_something_everywhere() -> None:
    """`alt+i to connect one`, not `alt+i connects one`: in sentences as well, and for a command behind its slash."""
    paths = [path for path in source.files() if {"ui", "turns"} & set(path.parts)]
    assert [(source.name(path), text) for path in paths for text in said(path) if _KEYED.search(text)] == []
    wrong = (
        "{app.setup} connects one",
        "ctrl+q quits",
        "{key} sends",
        "· /redo undoes it",
        "F1 lists",
        "· e shows all",
    )
    assert all(map(_KEYED.search, wrong))


_SPELLED = re.compile(
    r"\b[Ee]sc\b|[⏎↵]|\b[Pp]g(?:[Uu]p|[Dd]n)\b|\b(?:Ctrl|Alt|Shift)\+[A-Za-z]|\b(?:ctrl|alt|shift)-[a-z]\b"
)
"""A key that is not written as `printed_key` writes it."""


def test_a_key_is_written_in_one_way() -> None:
    """`escape`, `ctrl+g`: in the window, in messages, in the README and the guides. Other programs write as they do."""
    guides = [source.ROOT / "README.md", *(source.ROOT / ".github" / "guides").glob("*.md")]
    texts = [
        (path.name, line)
        for path in guides
        if path.stem != "profiles"
        for line in path.read_text(encoding="utf-8").split("\n")
    ]
    texts += [
        (source.name(path), text)
        for path in source.files()
        if not {"programs", "tmux"} & set(path.parts)
        for text in written(path)
    ]
    assert [(where, text) for where, text in texts if text.strip() != "⏎" and _SPELLED.search(text)] == []
    names = {printed_key(key) for row in KEYS.values() for key in row.keys.split(",")}
    assert [name for name in names if _SPELLED.search(name)] == []
    assert all(map(_SPELLED.search, ("esc to go back", "⏎ send", "PgUp", "Ctrl+C stops", "press ctrl-c")))


_FENCED = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)
_BULLET = re.compile(r"^ *(?:[-*]|\d+\.) ", re.MULTILINE)
_WORDS = 60
"""Most words of a bullet: it has one fact."""
_PARAGRAPH = 80
"""Most words of a paragraph or a row of a table: what is longer is an example, bullets and a table."""


def guide_parts() -> list[tuple[str, str, list[str]]]:
    """Of the README and the guides, without blocks: a file's name, a paragraph or a row, and the bullets below it."""
    guides = [source.ROOT / "README.md", *(source.ROOT / ".github" / "guides").glob("*.md")]
    assert len(guides) > 20
    texts = [(path.name, _FENCED.sub("", path.read_text(encoding="utf-8"))) for path in guides]
    parts = [(name, part) for name, text in texts for part in re.split(r"\n(?=\n|#|\|)", text)]
    split = [(name, _BULLET.split(part)) for name, part in parts]
    return [(name, paragraph, bullets) for name, (paragraph, *bullets) in split]


def test_a_bullet_of_a_guide_has_one_fact() -> None:
    found = [(name, bullet) for name, _, bullets in guide_parts() for bullet in bullets]
    assert found and [(name, bullet) for name, bullet in found if len(bullet.split()) > _WORDS] == []


def test_a_paragraph_of_a_guide_is_short() -> None:
    found = [(name, paragraph) for name, paragraph, _ in guide_parts() if paragraph.strip()]
    assert found and [(name, words) for name, words in found if len(words.split()) > _PARAGRAPH] == []


def test_groups_of_settings_are_titles() -> None:
    assert all(title[:1].isupper() and len(title.split()) <= 3 for title in ORDER)


_TRANSLATED = re.compile(
    r"\bwithout a yes\b|\bcounts for nothing\b|\bthat one may\b|\bas ssh knows\b"
    r"|\bwent nowhere\b|\bfor a short while\b|\bGo on from\b|\bof tools that agents\b|\bChains of steps\b"
    r"|\bThere are no\b|\bIt was requested\b|\blook with `|\bEnter a call\b|\bPut it away\b"
)
"""Turns of phrase that no native speaker uses; `.github/STYLE.md` has what to write."""


def test_no_text_is_translated_word_by_word() -> None:
    found = [
        f"{source.name(path)}: {text}" for path in source.files() for text in written(path) if _TRANSLATED.search(text)
    ]
    assert found == []
    assert _TRANSLATED.search("It removes nothing without a yes") and _TRANSLATED.search(
        "File of the key, as ssh knows"
    )


def test_a_limit_is_a_maximum() -> None:
    text = (source.PACKAGE / "settings" / "settings_tables.py").read_text(encoding="utf-8")
    assert re.findall(r'description="Most [^"]*', text) == []


def test_the_sheet_has_twenty_pairs() -> None:
    table = (source.ROOT / ".github" / "STYLE.md").read_text(encoding="utf-8").partition("| not | but |")[2]
    pairs = [line.split(" | ") for line in table.strip().split("\n")[1:]]
    assert len(pairs) >= 20 and all(len(pair) == 2 for pair in pairs)


def test_no_row_of_the_help_is_wider_than_its_page() -> None:
    rows = other_rows(set(), lambda id: ", ".join(map(printed_key, KEYS[id].keys.split(","))))
    for width in (40, 74, 92):
        assert [line.plain for line in help_text(rows, (), width).split("\n") if line.cell_length > width] == []


_COMMAND = re.compile(r"`(?:gsh-tui |gsh |/)[a-z]")
_EXAMPLE = re.compile(r"```|\||(?:- )?`(?:gsh-tui |gsh |/|--)")


def test_a_section_of_a_guide_begins_with_its_example() -> None:
    """Each that names a command: a block, a table, or the command itself comes first."""
    guides = (source.ROOT / ".github" / "guides").glob("*.md")
    parts = [(path.name, part) for path in guides for part in re.split(r"(?m)^##+ ", path.read_text("utf-8"))[1:]]
    assert len(parts) > 60
    found = [
        (name, heading)
        for name, part in parts
        for heading, _, body in (part.partition("\n"),)
        if _COMMAND.search(body) and not _EXAMPLE.match(body.lstrip())
    ]
    assert not found
