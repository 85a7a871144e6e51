"""An agent in a process and a worktree of its own gets the worktree's AGENTS.md, since its repository is trusted."""

from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import TurnFinished
from gshtui.bus.events.hub_events import Noticed
from gshtui.bus.events.session_events import SessionOpened
from gshtui.settings import paths, trust
from gshtui.store.record.store import Store
from tests.kit.endings import closing_async
from tests.kit.native_agents import AGENT, agent_process, prepare_spec, relay_window, wait_for_exit
from tests.kit.resident import resident
from tests.unit.test_instruction_files import git, write

__all__ = ["resident"]
pytestmark = pytest.mark.usefixtures("resident")


def worktree(tmp_path: Path) -> tuple[Path, Path]:
    """A repository with a worktree beside it."""
    main = tmp_path / "main"
    main.mkdir()
    git(main, "init", "-q")
    write(main / "AGENTS.md", "Of the branch main.")
    git(main, "add", ".")
    git(main, "commit", "-qm", "one")
    git(main, "worktree", "add", "-q", str(tmp_path / "tree"), "-b", "topic")
    write(tmp_path / "tree" / "AGENTS.md", "Of the branch topic.")
    return main, tmp_path / "tree"


async def test_an_agent_in_a_worktree_gets_the_files_that_are_there(tmp_path: Path) -> None:
    main, tree = worktree(tmp_path)
    trust.trust(main, None)
    trust.trust(tree, None)  # its branch has changed the file
    async with relay_window(main) as hub:
        _, file = prepare_spec(tree, "files *.md", hub=hub.relay.socket, background=True)
        with agent_process(file, tree) as process:
            await hub.heard.wait_for(TurnFinished, agent=AGENT)
            code, _, err = await wait_for_exit(process)
        assert (code, err) == (0, "")
        session = (await hub.heard.wait_for(SessionOpened, agent=AGENT)).session
        assert not [one for one in hub.heard.of(Noticed) if "AGENTS.md" in one.text]
    async with closing_async(await Store.open(paths.data_dir() / "gsh.db")) as store:
        marks = await store.contexts.iterations(session)
        assert len(marks) == 2
        for mark in marks:
            (file,) = [block for block in await store.contexts.blocks(mark.id) if block.kind == "file"]
            assert file.path == str(tree / "AGENTS.md")
            assert (await store.contexts.text(file.hash)).endswith("Of the branch topic.")
