"""Which lines need a terminal, and which outputs say that one was missing."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gshtui.programs.screen.terminal_programs import complains, needs_terminal


@pytest.mark.parametrize(
    "line",
    [
        "vim",
        "vim a.txt",
        "/usr/bin/vim a.txt",
        "sudo vim /etc/hosts",
        "EDITOR=x nano a",
        "cd src && nvim .",
        "git log | less",
        "man ls",
        "top",
        "htop -d 5",
        "watch -n1 date",
        "tmux attach",
        "ls | fzf",
        "less < a.txt",
        "python3",
        "python3 -i",
        "bash",
        "node",
        "sudo -i",
        "su",
        "ssh host",
        "ssh -p 22 me@host",
        "sqlite3 a.db",
        "psql shop",
        "git commit",
        "git commit --amend",
        "git rebase -i HEAD~3",
        "git add -p",
        "crontab -e",
        "docker run -it alpine sh",
        "docker exec -ti x bash",
        "claude",
        "codex 'fix it'",
        "env A=1 less a",
        "make || vim Makefile",
    ],
)
def test_lines_that_need_one(line: str) -> None:
    assert needs_terminal(line)


@pytest.mark.parametrize(
    "line",
    [
        "",
        "make",
        "ls -la",
        "echo vim",
        "grep vim a.txt",
        "vim --version",
        "top -b -n1",
        "man ls | head",
        "python3 a.py",
        "python3 -c 'print(1)'",
        "echo 1 | python3",
        "python3 < a.py",
        "bash a.sh",
        "node a.js",
        "git log",
        "git diff",
        "git commit -m 'vim'",
        "git commit -am x",
        "git commit --amend --no-edit",
        "git add .",
        "git rebase main",
        "ssh host uptime",
        "ssh -N -L 1:h:2 host",
        "sqlite3 a.db 'select 1'",
        "psql -c 'select 1'",
        "docker run alpine true",
        "docker ps",
        "claude -p hi",
        "codex exec hi",
        "npm init -y",
        "less a > b",
        "sudo apt list",
        "echo 'less' # vim",
        "systemctl status x",
    ],
)
def test_lines_that_need_none(line: str) -> None:
    assert not needs_terminal(line)


@given(st.text(max_size=200), st.sampled_from(["", "vim", "sudo -", "git", "ssh -p", "| less", "env A="]))
def test_any_line_is_judged(line: str, more: str) -> None:
    assert needs_terminal(f"{line} {more}") in (True, False)


@pytest.mark.parametrize(
    "output",
    [
        "the input device is not a TTY",
        "sudo: a terminal is required to read the password; either use the -S option",
        "Vim: Warning: Output is not to a terminal",
        "Traceback …\nEOFError: EOF when reading a line",
        "stty: 'standard input': Inappropriate ioctl for device",
        "Error opening terminal: unknown.",
    ],
)
def test_outputs_that_ask_for_one(output: str) -> None:
    assert complains(output)
    assert not complains("make: *** No rule to make target 'tty'.  Stop.")
