"""Kept prompts: where they are found, which of them count, and the sentence for each that does not."""

import os
from pathlib import Path

import pytest

from gshtui.agents.prompts.prompt_store import MAX_BYTES, PromptError, read_prompts
from gshtui.settings import trust
from tests.kit.configuration import made_project
from tests.kit.home import Home


def put(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def test_every_place_is_read_and_the_first_one_counts(tmp_path: Path, home: Home) -> None:
    put(home.config / "gsh/prompts/a.md", "---\ndescription: Mine\narguments: [x, y]\nagents: main\n---\nDo $x\n")
    put(home.path / ".claude/commands/front/b.md", "---\nallowed-tools: Bash(git:*)\n---\n# Fix it\n$ARGUMENTS\n")
    put(home.path / ".codex/prompts/c.md", "Codex says\n")
    put(home.path / ".codex/prompts/a.md", "Another\n")
    store = read_prompts(tmp_path, os.environ)
    assert {name: one.source for name, one in store.found.items()} == {
        "a": "yours",
        "front:b": "Claude Code",
        "c": "Codex",
    }
    assert (store.found["a"].arguments, store.found["a"].agents) == (("x", "y"), ("main",))
    assert store.found["front:b"].description == "Fix it"
    assert ["already a prompt 'a' (yours)" in problem for problem in store.problems] == [True]


def test_an_agents_folder_has_prompts_of_its_own(tmp_path: Path, home: Home) -> None:
    put(home.config / "gsh/prompts/review.md", "Review it\n")
    put(home.config / "gsh/prompts/@fix/review.md", "Review it hard\n")
    put(home.config / "gsh/prompts/@docs/deep/tone.md", "Mind the tone\n")
    store = read_prompts(tmp_path, os.environ)
    assert store.problems == []
    assert [store.get("review", agent).body for agent in ("fix", "docs", "")] == [
        "Review it hard",
        "Review it",
        "Review it",
    ]
    assert [(one.name, one.agents) for one in store.prompts] == [
        ("deep:tone", ("docs",)),
        ("review", ()),
        ("review", ("fix",)),
    ]
    with pytest.raises(PromptError, match="The prompt deep:tone is for docs, not for fix"):
        store.get("deep:tone", "fix")


def test_a_projects_count_once_trusted_and_as_they_were(tmp_path: Path) -> None:
    project = made_project(tmp_path / "project")
    file = put(project / ".gsh/prompts/p.md", "One")
    put(project / ".claude/commands/q.md", "Two")
    assert read_prompts(project, os.environ).found == {}
    assert "not trusted" in read_prompts(project, os.environ).problems[0]
    trust.trust(project, None)
    assert sorted(read_prompts(project, os.environ).found) == ["p", "q"]
    file.write_text("Changed", encoding="utf-8")
    assert sorted(read_prompts(project, os.environ).found) == ["q"]
    outside = put(tmp_path / "outside.md", "x")
    (project / ".gsh/prompts/link.md").symlink_to(outside)
    assert any("leads out of the project" in problem for problem in read_prompts(project, os.environ).problems)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("x" * 10_000_000, f"10,000,000 bytes; the limit is {MAX_BYTES:,}"),
        ("", "it has no text"),
        ("---\ndescriptoin: x\n---\nBody", "line 2: there is no key 'descriptoin'"),
        ("---\nname: a b\n---\nBody", "its name 'a b'"),
        ("---\narguments: [1x]\n---\nBody", "the argument '1x'"),
        ("---\nx", "not closed"),
        ("a\0b", "not a text file"),
    ],
)
def test_a_bad_file_is_one_sentence(tmp_path: Path, home: Home, text: str, said: str) -> None:
    put(home.config / "gsh/prompts/bad.md", text)
    store = read_prompts(tmp_path, os.environ)
    assert store.found == {}
    assert said in store.problems[0]
    assert len(store.problems[0]) < 400
    with pytest.raises(PromptError, match="There is no prompt") as raised:
        store.get("bad")
    assert "bad.md is not used" in raised.value.hint
