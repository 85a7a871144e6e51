"""What is surely a key of a provider, and what only begins like one."""

import pytest

from gshtui.settings.known_providers import api_of_key, lone_key, may_become_key
from gshtui.text.secret_shapes import without_tokens

KEYS = {
    f"sk-ant-api03-{'aB3_-' * 19}": "anthropic",
    f"sk-proj-{'aB3_-' * 31}": "openai",
    f"sk-{'aB34' * 12}": "openai",
    f"AIzaSy{'aB3_-' * 6}aB3": "gemini",
    f"sk-or-v1-{'0af1' * 16}": "openrouter",
}


@pytest.mark.parametrize("key", KEYS)
def test_a_key_that_stands_alone_is_found_in_any_form(key: str) -> None:
    assert api_of_key(key) == KEYS[key]
    for form in (
        "{}",
        " {}\n",
        "'{}'",
        '"{}"',
        "X_KEY={}",
        'export X_KEY="{}"',
        "X_KEY = '{}'",
        "/model {}",
        "/setup {}",
    ):
        assert lone_key(form.format(key)) == key and may_become_key(form.format(key)), form
        assert may_become_key(form.format(key[:9]).strip("\"'\n")), form
    for form in ("use {}", "{} {}", "A={}\nB=1", "! echo {}", "/spawn {}"):
        assert lone_key(form.format(key, key)) == "" and not may_become_key(form.format(key, key)), form
    assert without_tokens(f"use {key}, or\nX={key}") == "use [redacted], or\nX=[redacted]"


@pytest.mark.parametrize(
    "text",
    [
        *("", "sk-", "AIza", "sk-ant-", "sk-ant-api03-abcdefghijklmnop", "sk-learn-pipeline-refactoring-notes"),
        *(f"sk-{'word-' * 20}", f"sk-{'a' * 47}", f"sk-{'a' * 49}", f"AIza{'a' * 36}", f"task-{'a' * 48}"),
    ],
)
def test_what_only_begins_like_a_key_is_none(text: str) -> None:
    assert lone_key(text) == ""
