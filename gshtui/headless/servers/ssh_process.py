"""`gsh-tui serve --ssh`: opens the door for people elsewhere until it is stopped. They talk in this record's calls."""

from __future__ import annotations

import asyncio
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gshtui.commands.shell_form import ALL_COMMANDS
from gshtui.headless import exits, streams
from gshtui.headless.commands.command_hub import load_settings, running_hub
from gshtui.headless.outcomes import error_code, outcome_code
from gshtui.headless.runner import Stop, run_command
from gshtui.headless.streams import complain
from gshtui.hub.hub_options import HubOptions

if TYPE_CHECKING:
    import asyncssh

    from gshtui.guard.people import AuthorizedPerson
    from gshtui.ssh.person_shell import LineEnd

_WORKBENCH = (sys.executable, "-m", "gshtui")


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Where to listen; empty values come from `[ssh]` in the configuration."""

    host: str = ""
    port: int | None = None
    json: bool = False


def serve_people(options: ServeOptions) -> int:
    """Serve until asked to stop; returns the exit code."""
    return run_command(lambda stop: _run(options, stop))


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


async def _run(options: ServeOptions, stop: Stop) -> int:
    from gshtui.calls.answer_drafts import DraftReader
    from gshtui.guard.people import alike, people_file
    from gshtui.settings import paths
    from gshtui.ssh.person_files import PersonFiles, ReadableFiles
    from gshtui.ssh.person_shell import PersonShell, Visit, caller_of
    from gshtui.ssh.ssh_server import DoorError, DoorOptions, SshDoor
    from gshtui.tools.files.file_paths import FilePaths

    loaded = load_settings()
    own = loaded.settings.ssh
    host, port = options.host or own.host, own.port if options.port is None else options.port
    here = HubOptions(
        cwd=Path.cwd(), loaded=loaded, respondent="nobody", parts=ALL_COMMANDS, visiting=True, where="gsh-tui serve"
    )
    async with running_hub(here) as hub:
        await hub.start()
        for failed in hub.failed.values():
            complain(f"{failed.part}: {failed.why}", failed.hint)
        if "store" in hub.failed or "fleet" in hub.failed or hub.make_calls is None:
            return exits.ERROR
        calls = hub.make_calls()

        assert hub.store is not None
        drafts = DraftReader(hub.store)
        own_files = FilePaths(hub.files, hub.settings.shared)

        async def open_shell(
            process: asyncssh.SSHServerProcess[bytes], person: AuthorizedPerson, command: str | None
        ) -> int:
            return _code(await PersonShell(Visit(hub, calls, person, drafts, _WORKBENCH), process).run(command))

        def open_files(channel: asyncssh.SSHServerChannel[bytes], person: AuthorizedPerson) -> asyncssh.SFTPServer:
            return PersonFiles(channel, ReadableFiles(own_files, hub.invocation, caller_of(person)))

        key = paths.data_dir(create=True) / "ssh_host_key"

        async def is_taken(name: str) -> bool:
            return alike(name, [calls.person.name, *await calls.agent_names()]) is not None

        door = SshDoor(DoorOptions(host, port, people_file(), key), open_shell, open_files, is_taken)
        try:
            await calls.start()
            drafts.start()
            port = await door.open()
            known = await asyncio.to_thread(door.read_people)
            for mistake in known.mistakes:
                complain(mistake)
            if options.json:
                streams.result_json({"host": host, "port": port, "host_key": door.fingerprint})
            else:
                streams.result(f"Listening on {host} port {port}; host key {door.fingerprint}.")
            if not known.people:
                complain("nobody may enter yet.", "`gsh-tui people allow NAME KEY` lets somebody in.")
            await stop.asked.wait()
        except DoorError as error:
            complain(error.message, error.hint)
            return exits.ERROR
        finally:
            await door.close()
            await drafts.stop()
            await calls.stop()
    return exits.DONE
