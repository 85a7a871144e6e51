"""A person's own client on a real tmux: found only inside this very server, switched to a session, attached to one."""

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import pytest

from gshtui.tmux import attach_client
from gshtui.tmux.quoting import command
from gshtui.tmux.server import TmuxServer
from gshtui.tmux.tmux_errors import TmuxError
from tests.kit.pty_child import PtyChild
from tests.kit.tmux import eventually, private_server, screen_text, tmux

__all__ = ["tmux"]


@contextmanager
def person(server: TmuxServer, session: str, home: Path) -> Generator[PtyChild]:
    """Somebody who sits in front of a session."""
    child = PtyChild(["/usr/bin/env", *server.attach_command(session)], home)
    child.go()
    try:
        yield child
    finally:
        child.close()


async def spawned(server: TmuxServer, session: str, home: Path) -> str:
    env = {"PATH": "/usr/bin:/bin", "PS1": "$ ", "ENV": ""}
    return (await server.spawn(session, ["sh", "-i"], cwd=home, env=env)).pane


async def sessions(server: TmuxServer) -> list[str]:
    """Which session each person looks at."""
    (reply,) = await server.connection.ask([command("list-clients", "-F", "#{client_control_mode} #{session_name}")])
    return [line[2:] for line in reply.lines if line.startswith("0 ")]


async def test_a_person_inside_the_server_is_switched(tmux: TmuxServer, tmp_path: Path) -> None:
    here = await spawned(tmux, "desk", tmp_path)
    await spawned(tmux, "gsh-agent-0001", tmp_path)
    (told,) = await tmux.connection.ask(
        [command("display-message", "-p", "-t", here, "#{socket_path},#{pid},#{session_id}")]
    )
    environ = {"TMUX": told.lines[0].replace("$", "")}
    assert await attach_client.client_here(tmux, environ) == "", "nobody looks"
    with person(tmux, "desk", tmp_path):
        client = await eventually(lambda: attach_client.client_here(tmux, environ))
        await attach_client.switch(tmux, client, "gsh-agent-0001")
        assert await eventually(lambda: sessions(tmux), until=lambda seen: seen == ["gsh-agent-0001"])
        assert await attach_client.client_here(tmux, environ) == client, "whatever they look at now"


async def test_a_person_elsewhere_is_left_alone(tmux: TmuxServer, tmp_path: Path) -> None:
    await spawned(tmux, "desk", tmp_path)
    async with private_server() as other:
        pane = await spawned(other, "desk", tmp_path)
        (told,) = await other.connection.ask([command("display-message", "-p", "-t", pane, "#{socket_path},#{pid},0")])
        with person(tmux, "desk", tmp_path):
            await eventually(lambda: sessions(tmux), until=lambda seen: seen == ["desk"])
            assert await attach_client.client_here(tmux, {"TMUX": told.lines[0]}) == ""
            assert await attach_client.client_here(tmux, {}) == ""
            assert await attach_client.client_here(tmux, {"TMUX": "nonsense"}) == ""


async def test_a_session_that_is_not_there(tmux: TmuxServer, tmp_path: Path) -> None:
    await spawned(tmux, "desk", tmp_path)
    await eventually(lambda: screen_text(tmux, "%0"), until=lambda screen: screen == "$")
    with pytest.raises(TmuxError) as raised:
        await attach_client.switch(tmux, "/dev/pts/999", "gsh-agent-0009")
    assert raised.value.kind in ("no_such_pane", "refused")
    with pytest.raises(TmuxError):
        await attach_client.attach(tmux, "gsh-agent-0009")
    assert await screen_text(tmux, "%0") == "$"
    assert "TMUX" not in os.environ
