"""What a prompt mentions, and what goes along with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from gshtui.ui.prompt.prompt_routing import MOST_ATTACHED, attachments, mentions


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("look at @a.py and @b/c.py.", ["a.py", "b/c.py"]),
        ('see @"my file.png", please', ["my file.png"]),
        ("(@x.md) @x.md", ["x.md"]),
        ("me@example.org", []),
        ("@", []),
    ],
)
def test_mentions(text: str, found: list[str]) -> None:
    assert mentions(text) == found


def test_pictures_and_documents_go_along(tmp_path: Path) -> None:
    for name in ("shot.PNG", "my plan.pdf", "code.py"):
        (tmp_path / name).write_text("x")
    (tmp_path / "folder.png").mkdir()
    text = '@shot.PNG @"my plan.pdf" @code.py @missing.png @folder.png @../../etc/passwd'
    assert attachments(text, tmp_path) == (str(tmp_path / "shot.PNG"), str(tmp_path / "my plan.pdf"))


def test_not_more_than_a_model_takes(tmp_path: Path) -> None:
    for n in range(30):
        (tmp_path / f"{n}.png").write_text("x")
    assert len(attachments(" ".join(f"@{n}.png" for n in range(30)), tmp_path)) == MOST_ATTACHED


def test_a_name_that_no_system_takes(tmp_path: Path) -> None:
    assert attachments(f"@{'x' * 5_000}.png @a\0b.png", tmp_path) == ()
