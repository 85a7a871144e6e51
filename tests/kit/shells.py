"""A real zsh or bash in a pty with our plugin, in the test's made-up home: lines in, what the prompt says out."""

import os
import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from tests.kit.pty_child import PtyChild

PLUGIN = Path(__file__).parents[2] / "gshtui" / "shell" / "gsh.plugin.zsh"
BASH_PLUGIN = PLUGIN.with_name("gsh.bash")
_PROMPT = re.compile(rb"<<(\d+)>>")


def zsh() -> str:
    found = shutil.which("zsh")
    assert found, "these tests need zsh; `.ci/setup` installs it"
    return found


class Shell:
    """An interactive shell. Its prompt is `<<STATUS>>`; without `editor` it reads whole lines from the terminal."""

    def __init__(
        self, *, program: str = "zsh", before: str = "", after: str = "", editor: bool = False, cwd: Path | None = None
    ) -> None:
        """`before` and `after`: what the start-up file says before and after the plugin's line."""
        home = Path(os.environ["HOME"])
        if program == "zsh":
            base = "unsetopt global_rcs; PS1='<<%?>>'; unsetopt prompt_cr prompt_sp\n" + (
                "" if editor else "unsetopt zle\n"
            )
            (home / ".zshrc").write_text(f"{base}{before}\n'builtin' 'source' {PLUGIN}\n{after}\n")
            argv = [zsh(), "-d", "-i"]
        else:
            (home / ".bashrc").write_text(f"PS1='<<$?>>'\n{before}\nsource {BASH_PLUGIN}\n{after}\n")
            argv = [shutil.which("bash") or "/bin/bash", *([] if editor else ["--noediting"]), "-i"]
        os.environ.pop("ZDOTDIR", None)
        self._child = PtyChild(argv, cwd or home)
        self._child.go()
        self._prompts = 0
        self.wait_for_prompt()

    @property
    def output(self) -> bytes:
        """All that the terminal has seen."""
        return self._child.output

    @property
    def pid(self) -> int:
        return self._child.pid

    def wait_for_prompt(self) -> int:
        """Wait for the next prompt; the status that it tells."""
        wanted = self._prompts + 1
        self._child.read_until(lambda: len(_PROMPT.findall(self._child.output)) >= wanted)
        found = _PROMPT.findall(self._child.output)
        self._prompts = len(found)
        return int(found[-1])

    def press_keys(self, keys: bytes | str) -> None:
        self._child.write(keys.encode() if isinstance(keys, str) else keys)

    def wait_for_text(self, text: bytes) -> None:
        """Wait until the terminal has seen this behind the last prompt."""
        start = [found.end() for found in _PROMPT.finditer(self.output)][self._prompts - 1]
        self._child.read_until(lambda: text in self._child.output[start:])

    def run(self, line: bytes | str) -> int:
        """Run a line; its status, as the prompt says it."""
        self.press_keys((line.encode() if isinstance(line, str) else line) + b"\n")
        return self.wait_for_prompt()

    def output_of(self, line: str) -> str:
        """Run a line; what it printed."""
        start = len(self.output)
        self.run(line)
        return self.output[start:].decode("utf-8", "replace").partition("\n")[2].rpartition("<<")[0].strip("\r\n")

    def exit(self) -> int:
        """Type `exit`; its code."""
        self.press_keys("exit\n")
        return self.wait_for_end()

    def wait_for_end(self) -> int:
        """Wait until it has ended; its code."""
        return self._child.wait()

    def close(self) -> None:
        """End it at once, if it has not ended."""
        self._child.close()


class PipedShell:
    """An interactive zsh with the plugin that reads its commands from a pipe, as fast as it can."""

    def __init__(self, environ: Mapping[str, str] | None = None) -> None:
        self._child = subprocess.Popen(
            [zsh(), "-d", "-f", "-i"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=dict(environ or os.environ),
            start_new_session=True,
        )
        self.feed(["unsetopt zle; PS1=", f"source {PLUGIN}"])

    def feed(self, lines: Sequence[str]) -> None:
        """More commands, behind those that it has."""
        assert self._child.stdin is not None
        self._child.stdin.write("".join(f"{line}\n" for line in lines).encode())
        self._child.stdin.flush()

    def exit(self) -> int:
        """Its code, when it has run what it was fed."""
        self.feed(["exit"])
        return self._child.wait()

    def close(self) -> None:
        """End it at once, if it has not ended."""
        self._child.kill()
        self._child.communicate()
