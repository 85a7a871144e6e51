"""A shell outside tmux whose line says so goes on in a tmux of its own: what it prints is known there, too."""

import asyncio
import contextlib
import os
from pathlib import Path

import pytest

from gshtui.shell import plugin
from tests.kit.command import command
from tests.kit.home import Home
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.shells import Shell
from tests.kit.warm_program import run_gsh

pytestmark = pytest.mark.tmux


@pytest.mark.parametrize("program", plugin.IN_TMUX)
async def test_the_first_question_after_a_login_has_what_just_failed(
    program: str, home: Home, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("TMUX_TMPDIR", str(tmp_path))
    monkeypatch.delenv("TMUX", raising=False)
    gsh = " ".join(command(["gsh", "plain"]))

    def ask() -> int:
        with contextlib.closing(Shell(program=program, before=plugin.line(program, in_tmux=True))) as shell:
            # tmux draws a prompt more than once, so prompts tell of no command's end here.
            lines = (
                ("[[ $TMUX == *gsh-shell-* ]] && echo 'in 't'mux'", b"in tmux"),
                ("sh -c 'echo test auth FAILED; exit 3'", b"<<3>>"),
                (gsh, b"I see."),
            )
            for line, shown in lines:
                shell.press_keys(f"{line}\n")
                shell.wait_for_text(shown)
            return shell.exit()

    async with loopback("anthropic", [[Say("I see.")]]) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        assert await asyncio.to_thread(ask) == 0
        assert "test auth FAILED" in str(server.requests[-1].body)
    assert list(tmp_path.glob("tmux-*/gsh-shell-*")) == [], "nothing of it is left"


@pytest.mark.parametrize("program", plugin.IN_TMUX)
def test_without_a_tmux_that_starts_it_goes_on_as_it_is(program: str, home: Home, tmp_path: Path) -> None:
    (tmp_path / "tmux").write_text("#!/bin/sh\necho no >&2; exit 1\n")
    (tmp_path / "tmux").chmod(0o755)
    before = f"GSH_IN_TMUX=1 PATH={tmp_path}:{os.environ['PATH']} TERM=xterm"
    with contextlib.closing(Shell(program=program, before=before)) as shell:
        assert shell.output_of('echo "[${TMUX-}]"') == "[]"
        assert shell.exit() == 0


@pytest.mark.parametrize("program", plugin.IN_TMUX)
def test_the_line_is_put_in_and_taken_out(program: str, home: Home) -> None:
    file = home.path / (".zshrc" if program == "zsh" else ".bashrc")
    file.write_text("# mine\n")
    for option, line in (("--in-tmux", plugin.line(program, in_tmux=True)), ("", plugin.line(program))):
        assert run_gsh("shell", "install", program, *filter(None, [option]), "--yes", cwd=home.path).code == 0
        assert file.read_text() == f"# mine\n{line}\n"
        assert "another copy" not in run_gsh("shell", "status", cwd=home.path).out
    assert run_gsh("shell", "uninstall", program, cwd=home.path).code == 0
    assert file.read_text() == "# mine\n"
