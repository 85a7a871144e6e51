"""The `terminal` tool on a real tmux with a real zsh and bash: exit codes, output, what runs, what is half typed."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from gshtui.commands.declaration import CommandError
from gshtui.fleet.terminal_tools.shared_shell import ShellChoice
from gshtui.tmux.server import TmuxServer
from tests.kit.home import Home
from tests.kit.terminals import Desk
from tests.kit.tmux import screen, shows, tmux

__all__ = ["tmux"]

SHELLS = ["/usr/bin/zsh", "/bin/bash"]


@pytest.fixture
def desk(tmux: TmuxServer, tmp_path: Path, home: Home) -> Desk:
    (home.path / ".zshrc").write_text("PROMPT='%~ %% '\nTHEIRS=yes\n")
    return Desk(tmux, tmp_path)


async def test_a_command_runs_in_a_shell_that_was_missing_and_gives_output_and_exit_code(desk: Desk) -> None:
    ran = await desk.run("terminal", command="echo one; echo two; false")
    assert ran.data["exit_code"] == 1
    assert ran.data["output"].split() == ["one", "two"]
    assert ran.is_error
    pane = (await desk.server.panes())[0]
    assert pane.session == "gsh-main"
    assert "one" in await screen(desk.server, pane.pane)


@pytest.mark.parametrize("shell", [*SHELLS, "/bin/sh"])
async def test_folder_and_variables_last_and_any_text_is_taken_as_it_stands(
    tmux: TmuxServer, tmp_path: Path, home: Home, shell: str
) -> None:
    desk = Desk(tmux, tmp_path, shell=shell)
    (tmp_path / "sub").mkdir()
    await desk.run("terminal", command="cd sub; word='a  b'")
    comment = "" if shell.endswith("zsh") else " # a comment"  # which zsh takes for words
    assert (await desk.run("terminal", command=f'pwd; echo "$word"{comment}')).data["output"].split("\n") == [
        str(tmp_path / "sub"),
        "a  b",
    ]
    assert (await desk.run("terminal", command="cat <<E\nline $((1+1))\nE")).data["output"] == "line 2"
    assert (await desk.run("terminal", command="printf 'no end'")).data == {
        "exit_code": 0,
        "running": False,
        "ended": True,
        "output": "no end",
    }


async def test_the_persons_own_configuration_holds(desk: Desk) -> None:
    ran = await desk.run("terminal", command="echo $THEIRS $ZDOTDIR-$GSH_ZDOTDIR; echo $HOME")
    assert ran.data["output"].split("\n")[0] == "yes -"


async def test_a_command_that_still_runs_goes_on_and_is_told(desk: Desk, tmp_path: Path) -> None:
    ran = await desk.run("terminal", command="echo begun; cat > got; echo over", timeout_s=0.5)
    assert ran.timed_out
    assert ran.data["running"]
    assert ran.data["exit_code"] is None
    assert "begun" in ran.data["output"]
    desk.reach.patience = 0.2
    with pytest.raises(CommandError, match="`cat` is still running"):
        await desk.run("terminal", command="echo never typed")
    pane = (await desk.server.panes())[0].pane
    desk.reach.patience = 5.0
    await desk.server.send_keys(pane, "C-d")
    await shows(desk.server, pane, "over")
    assert (tmp_path / "got").read_text() == ""  # nothing of the refused command reached it
    assert (await desk.run("terminal", command="echo again")).data["output"] == "again"


async def test_a_builtin_that_waits_for_input_is_no_prompt(desk: Desk) -> None:
    """No other process runs, and still the shell would swallow what is typed."""
    pane = await desk.open()
    await desk.person(pane, "read answer\r")
    await desk.server.type_literal(pane, "\r")
    await desk.prompt(pane)
    await desk.server.type_literal(pane, "while true; do :; done\r")
    await shows(desk.server, pane, "done")
    desk.reach.patience = 0.2
    with pytest.raises(CommandError, match="A command is still running"):
        await desk.run("terminal", command="echo never")
    desk.reach.patience = 5.0
    await desk.server.send_keys(pane, "C-c")
    await desk.prompt(pane)
    assert (await desk.run("terminal", command="echo back")).data["output"] == "back"


async def test_what_the_person_half_typed_is_put_aside_and_comes_back(desk: Desk) -> None:
    pane = await desk.open()
    await desk.person(pane, "echo half typed")
    ran = await desk.run("terminal", command="echo ours")
    assert ran.data["output"] == "ours"
    await desk.prompt(pane)
    # The line stands there again, and is the person's to go on with.
    await desk.person(pane, " and finished\r")
    await shows(desk.server, pane, "\nhalf typed and finished")


async def test_in_a_shell_without_that_key_half_typed_text_is_left_alone(tmux: TmuxServer, tmp_path: Path) -> None:
    desk = Desk(tmux, tmp_path, shell="/bin/bash")
    pane = await desk.open()
    await desk.person(pane, "echo half")
    desk.reach.patience = 0.2
    with pytest.raises(CommandError, match=r"half typed something into the shared shell: .*echo half"):
        await desk.run("terminal", command="touch never")
    assert not (tmp_path / "never").exists()
    desk.reach.patience = 5.0
    await desk.server.send_keys(pane, "C-u")
    assert (await desk.run("terminal", command="echo ours")).data["output"] == "ours"


async def test_a_line_that_the_shell_would_not_take_is_refused_before_it_is_typed(desk: Desk) -> None:
    with pytest.raises(CommandError, match="does not understand that line"):
        await desk.run("terminal", command="echo 'unclosed")
    assert (await desk.run("terminal", command="echo fine")).data["output"] == "fine"


async def test_an_interrupt_by_the_person_is_told(desk: Desk) -> None:
    pane = await desk.open()
    running = asyncio.create_task(desk.run("terminal", command="echo begun; sleep 60"))
    await shows(desk.server, pane, "\nbegun")
    await desk.server.send_keys(pane, "C-c")
    ran = await running
    assert ran.is_error
    assert ran.data["exit_code"] is None
    assert ran.data["ended"]
    assert "interrupted" in ran.text


async def test_interrupting_the_turn_stops_the_command(desk: Desk) -> None:
    pane = await desk.open()
    running = asyncio.create_task(desk.run("terminal", command="echo begun; sleep 60"))
    await shows(desk.server, pane, "\nbegun")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await desk.prompt(pane)


async def test_a_shell_that_ends_is_told_and_replaced(desk: Desk) -> None:
    ran = await desk.run("terminal", command="echo bye; exit 3")
    assert ran.is_error
    assert "ended with it" in ran.text
    assert (await desk.run("terminal", command="echo new")).data["output"] == "new"
    assert len(await desk.server.panes()) == 1


async def test_a_long_output_is_cut_and_kept_whole(desk: Desk) -> None:
    ran = await desk.run("terminal", command="seq 4000 | sed 's/^/line number /'")
    assert len(ran.text.encode()) < 31_000
    assert ran.full.split("\n")[0] == "line number 1"
    assert ran.full.split("\n")[-1] == "line number 4000"
    endless = await desk.run("terminal", command="seq 30000")
    assert "scrolled out of reach" in endless.text
    assert endless.data["exit_code"] == 0
    assert endless.full.split("\n")[-1] == "30000"


async def test_two_agents_take_turns(desk: Desk) -> None:
    await desk.open()
    both = await asyncio.gather(
        desk.run("terminal", command="echo first; sleep 0.2", agent="0001"),
        desk.run("terminal", command="echo second", agent="0002"),
    )
    assert [ran.data["output"] for ran in both] == ["first", "second"]


async def test_output_is_data_without_escapes(desk: Desk) -> None:
    ran = await desk.run("terminal", command=r"printf 'a\033]52;c;aGk=\007b\033[31mred\033[0m\n'")
    assert ran.data["output"] == "abred"


async def test_catastrophes_are_refused_and_every_run_is_asked_about(desk: Desk, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="refused, whoever asks"):
        await desk.run("terminal", command="rm -rf /")
    asked = await desk.assess("terminal", command="git status", call="c1")
    assert asked.effect.value == "execute"
    assert asked.pattern == ""
    assert "with your configuration" in asked.detail
    assert not (await desk.assess("terminal", command="cat /etc/passwd")).inside


async def test_what_was_approved_for_one_folder_does_not_run_in_another(desk: Desk, tmp_path: Path) -> None:
    pane = await desk.open()
    (tmp_path / "elsewhere").mkdir()
    await desk.assess("terminal", command="touch made", call="c1")
    await desk.person(pane, "cd elsewhere\r")
    await desk.prompt(pane)
    with pytest.raises(CommandError, match="When this was approved"):
        await desk.run("terminal", command="touch made", call="c1")
    assert not (tmp_path / "elsewhere" / "made").exists()


@pytest.mark.parametrize("shell", ["zsh", "fish", "tcsh"])
async def test_a_shell_that_is_not_where_the_settings_say(tmux: TmuxServer, tmp_path: Path, shell: str) -> None:
    """It is taken from where it is installed; one that is not there gives way to the person's own, then to sh."""
    installed, nowhere = tmp_path / "bin", tmp_path / "nowhere"
    installed.mkdir()
    (installed / "zsh").symlink_to("/bin/bash")
    own = {"PATH": str(installed), "SHELL": "/bin/bash"}
    expected = {"zsh": installed / "zsh", "fish": Path("/bin/bash"), "tcsh": Path("/bin/bash")}[shell]
    assert ShellChoice(nowhere / shell, own).choose() == expected
    assert ShellChoice(nowhere / "fish", {"PATH": str(nowhere), "SHELL": str(nowhere / "zsh")}).choose() == Path(
        "/bin/sh"
    )
    ran = await Desk(tmux, tmp_path, shell=str(nowhere / shell)).run("terminal", command="echo here")
    assert ran.data["output"] == "here"
