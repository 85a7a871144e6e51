"""Suggestions at the prompt of a real zsh, from a hub that listens or stands still, and through another plugin."""

import asyncio
import re
import signal
import time

from gshtui.bus.shell_data import ShellRecord
from gshtui.settings import paths
from gshtui.store.record.store import Store
from tests.kit.home import Home
from tests.kit.shells import Shell
from tests.kit.tmux import eventually
from tests.real.test_shell_whole import hub_child, wait_until_listening

GREY = re.compile(rb"\x1b\[(?:90|38;5;8|4)m")


def _ran(command: str, cwd: str, number: int, agent: str = "") -> ShellRecord:
    at = time.time() - 100 + number
    return ShellRecord(shell="s", number=number, command=command, cwd=cwd, at=at, exit=0, state="done", agent=agent)


def _suggests(shell: Shell, typed: str, rest: bytes) -> None:
    """Type this; the rest is shown behind it."""
    shell.press_keys(f"\x15{typed}")
    shell.wait_for_text(rest)


async def test_a_prompt_suggests_and_never_waits(home: Home) -> None:
    store = await Store.open(paths.data_dir() / "gsh.db")
    folder, other = home.path / "a", home.path / "b"
    folder.mkdir(), other.mkdir()
    await store.shells.add_all(
        [
            _ran('print "grüße %22 \\d"', str(folder), 1),
            _ran("print other", str(other), 2),
            _ran("print agents-own", str(folder), 3, agent="fix"),
        ]
    )
    hub = hub_child()
    await asyncio.to_thread(wait_until_listening, hub)
    stub = "_zsh_autosuggest_fetch_suggestion() { :; }; ZSH_AUTOSUGGEST_STRATEGY=(history)"
    before = "bindkey -e; TERM=xterm-256color; HISTSIZE=100"
    shell = await asyncio.to_thread(lambda: Shell(editor=True, before=before, cwd=folder))
    try:
        await asyncio.to_thread(_suggests, shell, "pri", 'nt "grüße %22 \\d"'.encode())
        assert GREY.search(shell.output)
        assert "grüße %22 d" in await asyncio.to_thread(shell.output_of, "\x06")
        await asyncio.to_thread(_suggests, shell, "pri", 'nt "grüße %22 \\d"'.encode())
        start = len(shell.output)
        await asyncio.to_thread(shell.press_keys, "\x03")
        await asyncio.to_thread(shell.press_keys, "\x15")  # zsh in the midst of an answer waits for one more key
        await asyncio.to_thread(shell.wait_for_prompt)
        left = shell.output[start:].partition(b"\n")[0]
        assert re.search(rb"\x1b\[(?:[JK]|\d+D)", left), "ctrl+c wipes the suggestion away"
        assert "INT" not in await asyncio.to_thread(shell.output_of, "functions TRAPINT; trap")
        await asyncio.to_thread(shell.run, "trap 'print mine' INT")
        await asyncio.to_thread(_suggests, shell, "pri", b"nt")
        await asyncio.to_thread(shell.press_keys, "\x03")
        await asyncio.to_thread(shell.wait_for_text, b"mine\r\n")
        assert "trap -- 'print mine' INT" in await asyncio.to_thread(shell.output_of, "\x15trap")
        await asyncio.to_thread(shell.run, "trap - INT")
        await asyncio.to_thread(shell.run, f"\x15cd {other}")
        await asyncio.to_thread(_suggests, shell, "pri", b"nt other")
        hub.send_signal(signal.SIGSTOP)
        assert "now" in await asyncio.to_thread(shell.output_of, "\x15print now")
        await asyncio.to_thread(_suggests, shell, "print n", b"print n")
        await asyncio.to_thread(shell.press_keys, "o")  # no answer to the first: zsh's own history
        await asyncio.to_thread(shell.wait_for_text, b"w")
        hub.send_signal(signal.SIGCONT)
        await asyncio.to_thread(shell.run, "\x15")
        plugged = await asyncio.to_thread(lambda: Shell(editor=True, before=f"{before}\n{stub}", cwd=folder))
        try:
            asked = "_zsh_autosuggest_strategy_gsh prin; print $ZSH_AUTOSUGGEST_STRATEGY, $suggestion"
            said = await eventually(
                lambda: asyncio.to_thread(plugged.output_of, asked), until=lambda text: "other" in text or "gr" in text
            )
            assert 'gsh history, print "gr' in said
        finally:
            plugged.close()
    finally:
        shell.close()
        hub.kill()
        hub.wait()
        await store.close()
