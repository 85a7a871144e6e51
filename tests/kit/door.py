"""The door for people elsewhere as tests use it: a running server with people on its list, and ways to come in."""

import asyncio
import re
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import asyncssh

from gshtui.guard.people import AuthorizedPerson, Rights, new_person, people_file, write_people
from tests.kit.pty_child import PtyChild
from tests.kit.warm_program import SDKS, shared, start_gsh

_PROMPT = re.compile(r"[a-z][a-z0-9-]*(?:\x1b\[[0-9;]*m)?:[a-z0-9-]+(?: \([^()\n]*\))?> |\? \[y/N\] |you> ")
"""The shell's own, a question's, or that of a talk."""


@dataclass
class Door:
    """A running server, and keys to it."""

    port: int
    keys: dict[str, Path]
    pid: int
    folder: Path

    def public_key(self, who: str) -> str:
        """Somebody's public key, as one line."""
        return asyncssh.read_private_key(str(self.keys[who])).export_public_key("openssh").decode().strip()

    def openssh(self, program: str, who: str, *options: str) -> list[str]:
        """The words of OpenSSH's `ssh` or `sftp` for one person; the host has to follow."""
        port = "-P" if program == "sftp" else "-p"
        own = (
            "IdentitiesOnly=yes",
            "StrictHostKeyChecking=no",
            f"UserKnownHostsFile={self.folder / 'known'}",
            "LogLevel=ERROR",
        )
        flags = [word for one in own for word in ("-o", one)]
        return [f"/usr/bin/{program}", "-F", "none", port, str(self.port), "-i", str(self.keys[who]), *flags, *options]

    def terminal(self, who: str, *command: str, columns: int = 100, rows: int = 30) -> PtyChild:
        """`ssh -t` in a terminal of its own, started."""
        child = PtyChild([*self.openssh("ssh", who, "-tt"), f"{who}@127.0.0.1", *command], self.folder, columns, rows)
        child.go()
        return child

    async def sftp(self, who: str, *lines: str) -> tuple[str, str, int]:
        """What OpenSSH's `sftp` prints for these lines, on both streams, and how it ends."""
        done = await asyncio.to_thread(
            subprocess.run,
            [*self.openssh("sftp", who, "-b", "-"), f"{who}@127.0.0.1"],
            input="".join(f"{line}\n" for line in lines).encode(),
            capture_output=True,
            timeout=25,
            check=False,
            cwd=self.folder,
        )
        return done.stdout.decode(), done.stderr.decode(), done.returncode

    def connect(self, who: str, **options: Any) -> Any:
        """A connection of one person."""
        return asyncssh.connect(
            "127.0.0.1",
            self.port,
            username=who,
            client_keys=[str(self.keys[who])],
            known_hosts=None,
            config=None,
            agent_path=None,
            **options,
        )


@dataclass
class Visitor:
    """A person at their shell."""

    process: asyncssh.SSHClientProcess[str]
    has_terminal: bool = True
    seen: str = ""
    lines: int = 0

    async def until(self, text: str) -> str:
        """What was printed up to and with this text."""
        return await self._until_match(re.compile(re.escape(text)))

    async def prompted(self) -> str:
        """What was printed up to the next prompt."""
        return await self._until_match(_PROMPT)

    async def _until_match(self, wanted: re.Pattern[str]) -> str:
        async with asyncio.timeout(60.0):
            while (found := wanted.search(self.seen)) is None:
                more = await self.process.stdout.read(4_096)
                assert more, f"the connection ended before {wanted.pattern!r}: {self.seen!r}"
                self.seen += more
        before, self.seen = self.seen[: found.end()], self.seen[found.end() :]
        return before

    async def run(self, line: str) -> str:
        """What a line prints: up to the next prompt, or without a terminal, up to what a line behind it prints."""
        if self.has_terminal:
            self.process.stdin.write(line + "\n")
            return await self._until_match(_PROMPT)
        self.lines += 1
        mark = f"that was line {self.lines}"
        self.process.stdin.write(f"{line}\necho '{mark}'\n")
        return (await self.until(f"{mark}\n")).removesuffix(f"{mark}\n")


@asynccontextmanager
async def door_for(tmp_path: Path, **rights: str) -> AsyncGenerator[Door]:
    """A running server for people with these rights; `eve` has a key that is not on the list."""
    keys: dict[str, Path] = {}
    people: list[AuthorizedPerson] = []
    for name in (*rights, "eve"):
        key = asyncssh.generate_private_key("ssh-ed25519")
        keys[name] = tmp_path / f"key-{name}"
        key.write_private_key(str(keys[name]))
        keys[name].chmod(0o600)
        if name in rights:
            public = key.export_public_key("openssh").decode().strip()
            people.append(new_person(public, name, cast("Rights", rights[name]), people))
    write_people(people_file(create=True), people)
    async with reopened(Door(0, keys, 0, tmp_path)) as door:
        yield door


@asynccontextmanager
async def reopened(door: Door) -> AsyncGenerator[Door]:
    """The server again, for the same people and on the same port, if there was one."""
    warm = shared(*SDKS, "gshtui.features.ssh.person_shell", "gshtui.features.ssh.person_files")
    with start_gsh("serve", "--ssh", "--port", str(door.port), cwd=door.folder, warm=warm) as process:
        assert process.stdout is not None
        said = (await asyncio.to_thread(process.stdout.readline)).decode()
        assert said.startswith("Listening on 127.0.0.1 port "), said
        yield replace(door, port=int(said.split("port ")[1].split(";")[0]), pid=process.pid)


@asynccontextmanager
async def at_terminal(door: Door, who: str) -> AsyncGenerator[Visitor]:
    """Their shell on a terminal, at its first prompt."""
    async with door.connect(who) as connection:  # noqa: SIM117
        async with connection.create_process(term_type="xterm", term_size=(80, 24)) as process:
            visitor = Visitor(process)
            await visitor.until(":lobby> ")
            yield visitor


@asynccontextmanager
async def visit(door: Door, who: str) -> AsyncGenerator[Visitor]:
    """One person at their shell, without a terminal: what is for standard error is among what they see."""
    async with door.connect(who) as connection, connection.create_process(stderr=asyncssh.STDOUT) as process:
        visitor = Visitor(process, has_terminal=False)
        await visitor.run("pwd")
        yield visitor
