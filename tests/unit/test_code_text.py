"""The pure parts of code intelligence: frames, columns, what is new among problems, outlines, the known servers."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from gshtui.features.code.language_table import find_program, language_servers
from gshtui.features.code.lsp_client import FrameReader, OversizedMessage
from gshtui.features.code.lsp_types import Encoding, characters, path_of, units, uri_of
from gshtui.features.code.problems import CodeProblem, listed, new_problems
from gshtui.settings.model import Settings
from gshtui.settings.started_programs import LanguageServerSettings
from gshtui.tools.files import code_outline
from tests.kit.storms import examples


def frame(body: bytes, *more: bytes) -> bytes:
    return b"\r\n".join((*more, b"Content-Length: %d" % len(body), b"", body))


@given(st.lists(st.binary(max_size=40), max_size=5), st.lists(st.integers(1, 30), min_size=1, max_size=20))
def test_frames_are_read_however_they_are_cut(bodies: list[bytes], sizes: list[int]) -> None:
    """Noise between them is passed over, and one that is too long costs no other."""
    types = b"Content-Type: application/vscode-jsonrpc; charset=utf-8"
    sent = b"Debugger attached.\n".join(frame(body, types) for body in bodies)
    sent = frame(b"y" * 100) + sent
    reader, found = FrameReader(longest=50), list[bytes | OversizedMessage]()
    while sent:
        size = sizes[len(sent) % len(sizes)]
        found += reader.feed(sent[:size])
        sent = sent[size:]
    assert found == [OversizedMessage(b"y" * 100, 100), *bodies]
    assert reader.fault == ""


@given(st.text(st.characters(exclude_categories=("Cs",)), max_size=30), st.integers(0, 30))
def test_columns_come_back_as_they_went(line: str, at: int) -> None:
    encodings: tuple[Encoding, ...] = ("utf-8", "utf-16", "utf-32")
    for encoding in encodings:
        assert characters(line, units(line[:at], encoding), encoding) == min(at, len(line))


def test_addresses_are_files_of_this_machine_or_none() -> None:
    for path in (Path("/a b/ü#?.py"), Path("/%41")):
        assert path_of(uri_of(path)) == path
    for uri in ("http://host/a", "file://host/a", "jar:///a", "file:a", "untitled:1", "file:///a%00b", "file://[/a"):
        assert path_of(uri) is None


def problem(line: int, message: str, text: str = "x") -> CodeProblem:
    return CodeProblem(Path("/p/a.py"), line, 1, "error", message, "one rule", text)


def test_a_problem_is_new_only_if_it_was_nowhere_before() -> None:
    before = [problem(1, "a"), problem(2, "a"), problem(3, "b", "old text")]
    moved = [problem(11, "a"), problem(12, "a"), problem(13, "b", "new text")]
    assert new_problems(before, moved) == []
    assert new_problems(before, [*moved, problem(4, "a", "y")]) == [problem(4, "a", "y")]
    assert new_problems([], before) == before
    assert new_problems(before, []) == []


def test_problems_are_counted_beyond_the_first() -> None:
    lines = listed([problem(n, f"m{n}") for n in range(20, 0, -1)], lambda path: path.name, 2)
    assert lines[0] == "│ a.py:1:1 error: m1 (one rule)"
    assert lines[2:] == ["[and 18 more; `code diagnostics` lists them]"]


SOURCES = {
    "a.py": (
        "@x\nclass A(B):\n    def m(self): ...\n\n    class I: ...\n\ndef f(): pass\n",
        ["2–5│class A(B):", "3–3│  def m(self): ...", "5–5│  class I: ...", "7–7│def f(): pass"],
    ),
    "a.ts": (
        "export class A {\n  m(): void {\n  }\n}\nconst f = async () => {\n};\ninterface I { a: string }\n",
        ["1–4│export class A", "2–3│  m(): void", "5–6│const f = async () =>", "7–7│interface I { a: string }"],
    ),
    "a.jsx": ("function F() { return <p/> }\n", ["1–1│function F() { return <p/> }"]),
    "a.tsx": ("function F() { return <p/> }\n", ["1–1│function F() { return <p/> }"]),
    "a.rs": (
        "impl F for B {\n    fn z(&self) {}\n}\nmod m { pub fn a() {} }\n",
        ["1–3│impl F for B", "2–2│  fn z(&self) {}", "4–4│mod m { pub fn a() {} }", "4–4│  pub fn a() {} }"],
    ),
    "a.go": (
        "package m\ntype A struct {\n\tX int\n}\nfunc (a *A) M() {}\n",
        ["2–4│type A struct", "5–5│func (a *A) M() {}"],
    ),
    "a.c": ("struct a { int b; };\nstruct a f(void)\n{\n}\n", ["1–1│struct a { int b; };", "2–4│struct a f(void)"]),
    "A.java": ("public class A {\n  void m() {}\n}\n", ["1–3│public class A", "2–2│  void m() {}"]),
    "a.sh": ("f() {\n  :\n}\n", ["1–3│f()"]),
    "a.unknown": ("class A: ...\n", []),
}


@pytest.mark.parametrize("name", SOURCES)
def test_an_outline_names_the_parts_of_a_file(name: str) -> None:
    text, wanted = SOURCES[name]
    assert [line.strip() for line in code_outline.drawn(code_outline.outline(name, text))] == wanted


@settings(max_examples=examples(20))
@given(st.text(max_size=60) | st.text("({[class def}])\n\t :\x1b\u202e", max_size=200))
def test_any_text_has_an_outline_that_is_safe_to_show(text: str) -> None:
    for name in ("a.py", "a.ts", "a.c"):
        lines = code_outline.drawn(code_outline.outline(name, text))
        assert not set("".join(lines)) & {"\x1b", "\u202e", "\n"}
        assert (
            sum(len(line.encode()) + 1 for line in code_outline.fitting(code_outline.outline(name, text), 100)) <= 100
        )


def test_settings_change_what_is_known_of_a_server(tmp_path: Path) -> None:
    mine = LanguageServerSettings(command=["mine", "--stdio"], files=["*.py", "*.mine"])
    own = {"ruff": LanguageServerSettings(enabled=False), "mine": mine}
    entries = {one.name: one for one in language_servers(Settings(language_servers=own))}
    assert not entries["ruff"].enabled
    assert entries["ruff"].command == ("ruff", "server")
    assert entries["mine"].files == {"*.py": "python", "*.mine": "mine"}
    assert not entries["mine"].runs_nothing
    assert next(iter(entries)) == "mine"
    (tmp_path / "tool").write_text("")
    assert find_program("tool", {"PATH": str(tmp_path)}) is None  # it cannot be run
    (tmp_path / "tool").chmod(0o755)
    assert find_program("tool", {"PATH": f".:relative:{tmp_path}"}) == tmp_path / "tool"
    assert find_program("./tool", {"PATH": str(tmp_path)}) is None
