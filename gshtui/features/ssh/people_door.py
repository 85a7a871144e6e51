"""The door for people elsewhere, on a hub: opened, announced, and kept until it is asked to close."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from gshtui.headless import exits
from gshtui.headless.outcomes import error_code, outcome_code
from gshtui.hub.hub import Hub
from gshtui.system.installation import own_command

if TYPE_CHECKING:
    import asyncssh

    from gshtui.features.ssh.person_shell import LineEnd, PersonShell
    from gshtui.guard.people import AuthorizedPerson

_WORKBENCH = tuple(own_command())


class DoorFace(Protocol):
    """Who has the door opened, and is told about it."""

    def complain(self, text: str, hint: str = "") -> None: ...

    def opened(self, address: Mapping[str, str | int]) -> None:
        """Say where it is: `host`, `port` and the fingerprint `host_key`."""
        ...


class PeopleDoor:
    """A door, and who is inside. `host`, `port`: where; empty or `None`: as `[ssh]` in the configuration says."""

    def __init__(self, hub: Hub, host: str, port: int | None, face: DoorFace) -> None:
        own = hub.settings.ssh
        self._hub = hub
        self._host, self._port = host or own.host, own.port if port is None else port
        self._face = face
        self.inside: dict[asyncio.Task[Any], PersonShell] = {}
        """The shells that are open, by the tasks that serve them."""

    async def serve(self, stop: asyncio.Event) -> int:
        """Start the hub, and let people in until asked to stop; returns the exit code."""
        from gshtui.calls.answer_drafts import DraftReader
        from gshtui.features.ssh.person_files import PersonFiles, ReadableFiles
        from gshtui.features.ssh.person_shell import PersonShell, Visit, caller_of
        from gshtui.features.ssh.ssh_server import DoorError, DoorOptions, SshDoor
        from gshtui.guard.people import alike, people_file
        from gshtui.settings import paths
        from gshtui.tools.files.file_paths import FilePaths

        hub = self._hub
        await hub.start()
        for failed in hub.failed.values():
            self._face.complain(f"{failed.part}: {failed.why}", failed.hint)
        if "fleet" in hub.failed or hub.store is None or hub.make_calls is None:
            return exits.ERROR
        calls, drafts = hub.make_calls(), DraftReader(hub.store)
        own_files = FilePaths(hub.files, hub.settings.shared)

        async def open_shell(
            process: asyncssh.SSHServerProcess[bytes], person: AuthorizedPerson, command: str | None
        ) -> int:
            shell = PersonShell(Visit(hub, calls, person, drafts, _WORKBENCH), process)
            task = asyncio.current_task()
            assert task is not None
            self.inside[task] = shell
            try:
                return _code(await shell.run(command))
            finally:
                del self.inside[task]

        def open_files(channel: asyncssh.SSHServerChannel[bytes], person: AuthorizedPerson) -> asyncssh.SFTPServer:
            return PersonFiles(channel, ReadableFiles(own_files, hub.invocation, caller_of(person)))

        async def is_taken(name: str) -> bool:
            return alike(name, [calls.person.name, *await calls.agent_names()]) is not None

        key = paths.data_dir(create=True) / "ssh_host_key"
        door = SshDoor(DoorOptions(self._host, self._port, people_file(), key), open_shell, open_files, is_taken)
        try:
            await calls.start()
            drafts.start()
            port = await door.open()
            known = await asyncio.to_thread(door.read_people)
            for mistake in known.mistakes:
                self._face.complain(mistake)
            self._face.opened({"host": self._host, "port": port, "host_key": door.fingerprint})
            if not known.people:
                self._face.complain("nobody may enter yet.", "`gsh-tui people allow NAME KEY` lets somebody in.")
            await stop.wait()
        except DoorError as error:
            self._face.complain(error.message, error.hint)
            return exits.ERROR
        finally:
            await door.close()
            await drafts.stop()
            await calls.stop()
        return exits.DONE


def _code(ended: LineEnd) -> int:
    """The exit code of what a script, or a command, ended with."""
    from gshtui.commands.declaration import NotAllowed, Outcome

    match ended:
        case None:
            return exits.DONE
        case int():
            return ended
        case KeyboardInterrupt():
            return exits.INTERRUPTED
        case Outcome():
            return outcome_code(ended)
        case NotAllowed():
            return exits.DENIED
        case _:
            return error_code(ended)
