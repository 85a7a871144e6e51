"""Walking through what was sent before."""

from gshtui.ui.prompt.prompt_history import LIMIT, SentHistory


def sent(*entries: str) -> SentHistory:
    history = SentHistory()
    for entry in entries:
        history.add(entry)
    return history


def test_back_and_forth_gives_the_draft_back() -> None:
    history = sent("one", "two")
    assert history.older("draft") is None  # nothing begins like that
    assert history.older("") == "two"
    assert history.older("two") == "one"
    assert history.older("one") is None
    assert history.newer() == "two"
    assert history.newer() == ""
    assert history.newer() is None


def test_what_is_written_is_the_prefix() -> None:
    history = sent("fix the tests", "run it", "fix the docs")
    assert history.older("fix") == "fix the docs"
    assert history.older("fix the docs") == "fix the tests"
    assert history.newer() == "fix the docs"
    assert history.newer() == "fix"


def test_a_repeated_text_is_kept_once() -> None:
    assert sent("a", "b", "a").entries == ["b", "a"]


def test_older_entries_come_from_outside() -> None:
    history = sent("new")
    history.load(["new", "older", "oldest"])
    assert history.entries == ["oldest", "older", "new"]


def test_it_is_bounded() -> None:
    history = SentHistory()
    history.load([str(n) for n in range(3 * LIMIT)])
    for n in range(LIMIT):
        history.add(f"new {n}")
    assert len(history.entries) == LIMIT
    assert history.entries[-1] == f"new {LIMIT - 1}"


def test_editing_ends_the_walk() -> None:
    history = sent("one", "two")
    assert history.older("") == "two"
    history.stop()
    assert not history.walking
    assert history.newer() is None


def test_commands_that_were_sent_by_name_the_latest_first() -> None:
    history = sent("/model gpt", "fix it", "/usage", "//not one", "/model claude", "/tmp/x is full", "/")
    assert history.commands() == ["model", "usage"]
