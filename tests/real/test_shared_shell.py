"""The `terminal` tool on a real tmux with a real zsh and bash: exit codes, output, what runs, what is half typed."""

import asyncio
from pathlib import Path

import pytest

from gshtui.commands.declaration import CommandError
from gshtui.fleet.terminal_tools.shared_shell import ShellChoice
from gshtui.tmux.server import TmuxServer
from tests.kit.home import Home
from tests.kit.terminal_tools import TerminalTools
from tests.kit.tmux import eventually, screen_text, tmux, wait_for_text

__all__ = ["tmux"]

SHELLS = ["/usr/bin/zsh", "/bin/bash"]


@pytest.fixture
def terminals(tmux: TmuxServer, tmp_path: Path, home: Home) -> TerminalTools:
    (home.path / ".zshrc").write_text("PROMPT='%~ %% '\nTHEIRS=yes\n")
    return TerminalTools(tmux, tmp_path)


async def test_a_command_runs_in_a_shell_that_was_missing_and_gives_output_and_exit_code(
    terminals: TerminalTools,
) -> None:
    ran = await terminals.run("terminal", command="echo one; echo two; false")
    assert ran.data["exit_code"] == 1
    assert ran.data["output"].split() == ["one", "two"]
    assert ran.is_error
    pane = (await terminals.server.panes())[0]
    assert pane.session == "gsh-main"
    assert "one" in await screen_text(terminals.server, pane.pane)


@pytest.mark.parametrize("shell", [*SHELLS, "/bin/sh"])
async def test_folder_and_variables_last_and_any_text_is_taken_as_it_stands(
    tmux: TmuxServer, tmp_path: Path, home: Home, shell: str
) -> None:
    terminals = TerminalTools(tmux, tmp_path, shell=shell)
    (tmp_path / "sub").mkdir()
    await terminals.run("terminal", command="cd sub; word='a  b'")
    comment = "" if shell.endswith("zsh") else " # a comment"  # which zsh takes for words
    assert (await terminals.run("terminal", command=f'pwd; echo "$word"{comment}')).data["output"].split("\n") == [
        str(tmp_path / "sub"),
        "a  b",
    ]
    assert (await terminals.run("terminal", command="cat <<E\nline $((1+1))\nE")).data["output"] == "line 2"
    assert (await terminals.run("terminal", command="printf 'no end'")).data == {
        "exit_code": 0,
        "running": False,
        "ended": True,
        "output": "no end",
    }


async def test_a_line_is_typed_for_the_folder_of_the_window_and_left_to_the_person(
    terminals: TerminalTools, tmp_path: Path
) -> None:
    await terminals.run("terminal", command="cd /")
    entered = await terminals.run("terminal", command="pwd > here", wait=False)
    assert entered.data == {"running": True}
    await eventually(lambda: asyncio.to_thread((tmp_path / "here").exists), until=bool)
    pane = (await terminals.server.panes())[0].pane
    assert (await terminals.run("terminal", command="pwd")).data["output"] == "/", "the shell is where it was"
    await terminals.run("terminal", command="touch left", wait=False, enter=False)
    await wait_for_text(terminals.server, pane, "touch left)")
    await terminals.server.send_keys(pane, "Enter")
    await eventually(lambda: asyncio.to_thread((tmp_path / "left").exists), until=bool)


async def test_the_persons_own_configuration_holds(terminals: TerminalTools) -> None:
    ran = await terminals.run("terminal", command="echo $THEIRS $ZDOTDIR-$GSH_ZDOTDIR; echo $HOME")
    assert ran.data["output"].split("\n")[0] == "yes -"


async def test_a_command_that_still_runs_goes_on_and_is_told(terminals: TerminalTools, tmp_path: Path) -> None:
    ran = await terminals.run("terminal", command="echo begun; cat > got; echo over", timeout_s=0.5)
    assert ran.timed_out
    assert ran.data["running"]
    assert ran.data["exit_code"] is None
    assert "begun" in ran.data["output"]
    terminals.reach.patience = 0.2
    with pytest.raises(CommandError, match="`cat` is still running"):
        await terminals.run("terminal", command="echo never typed")
    pane = (await terminals.server.panes())[0].pane
    terminals.reach.patience = 5.0
    await terminals.server.send_keys(pane, "C-d")
    await wait_for_text(terminals.server, pane, "over")
    assert (tmp_path / "got").read_text() == ""  # nothing of the refused command reached it
    assert (await terminals.run("terminal", command="echo again")).data["output"] == "again"


async def test_a_builtin_that_waits_for_input_is_no_prompt(terminals: TerminalTools) -> None:
    """No other process runs, and still the shell would swallow what is typed."""
    pane = await terminals.open_shell()
    await terminals.type_as_person(pane, "read answer\r")
    await terminals.server.type_bytes(pane, b"\r")
    await terminals.wait_for_prompt(pane)
    await terminals.server.type_bytes(pane, b"while true; do :; done\r")
    await wait_for_text(terminals.server, pane, "done")
    terminals.reach.patience = 0.2
    with pytest.raises(CommandError, match="A command is still running"):
        await terminals.run("terminal", command="echo never")
    terminals.reach.patience = 5.0
    await terminals.server.send_keys(pane, "C-c")
    await terminals.wait_for_prompt(pane)
    assert (await terminals.run("terminal", command="echo back")).data["output"] == "back"


async def test_what_the_person_half_typed_is_put_aside_and_comes_back(terminals: TerminalTools) -> None:
    pane = await terminals.open_shell()
    await terminals.type_as_person(pane, "echo half typed")
    ran = await terminals.run("terminal", command="echo ours")
    assert ran.data["output"] == "ours"
    await terminals.wait_for_prompt(pane)
    # The line stands there again, and is the person's to go on with.
    await terminals.type_as_person(pane, " and finished\r")
    await wait_for_text(terminals.server, pane, "\nhalf typed and finished")


async def test_in_a_shell_without_that_key_half_typed_text_is_left_alone(tmux: TmuxServer, tmp_path: Path) -> None:
    terminals = TerminalTools(tmux, tmp_path, shell="/bin/bash")
    pane = await terminals.open_shell()
    await terminals.type_as_person(pane, "echo half")
    terminals.reach.patience = 0.2
    with pytest.raises(CommandError, match=r"typed something into the shared shell without submitting it: .*echo half"):
        await terminals.run("terminal", command="touch never")
    assert not (tmp_path / "never").exists()
    terminals.reach.patience = 5.0
    await terminals.server.send_keys(pane, "C-u")
    assert (await terminals.run("terminal", command="echo ours")).data["output"] == "ours"


async def test_a_line_that_the_shell_would_not_take_is_refused_before_it_is_typed(terminals: TerminalTools) -> None:
    with pytest.raises(CommandError, match="does not understand that line"):
        await terminals.run("terminal", command="echo 'unclosed")
    assert (await terminals.run("terminal", command="echo fine")).data["output"] == "fine"


async def test_an_interrupt_by_the_person_is_told(terminals: TerminalTools) -> None:
    pane = await terminals.open_shell()
    running = asyncio.create_task(terminals.run("terminal", command="echo begun; sleep 60"))
    await wait_for_text(terminals.server, pane, "\nbegun")
    await terminals.server.send_keys(pane, "C-c")
    ran = await running
    assert ran.is_error
    assert ran.data["exit_code"] is None
    assert ran.data["ended"]
    assert "interrupted" in ran.text


async def test_interrupting_the_turn_stops_the_command(terminals: TerminalTools) -> None:
    pane = await terminals.open_shell()
    running = asyncio.create_task(terminals.run("terminal", command="echo begun; sleep 60"))
    await wait_for_text(terminals.server, pane, "\nbegun")
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    await terminals.wait_for_prompt(pane)


async def test_a_shell_that_ends_is_told_and_replaced(terminals: TerminalTools) -> None:
    ran = await terminals.run("terminal", command="echo bye; exit 3")
    assert ran.is_error
    assert "the command ended the shared shell" in ran.text
    assert (await terminals.run("terminal", command="echo new")).data["output"] == "new"
    assert len(await terminals.server.panes()) == 1


async def test_a_long_output_is_cut_and_kept_whole(terminals: TerminalTools) -> None:
    ran = await terminals.run("terminal", command="seq 4000 | sed 's/^/line number /'")
    assert len(ran.text.encode()) < 31_000
    assert ran.full.split("\n")[0] == "line number 1"
    assert ran.full.split("\n")[-1] == "line number 4000"
    endless = await terminals.run("terminal", command="seq 30000")
    assert "has scrolled away" in endless.text
    assert endless.data["exit_code"] == 0
    assert endless.full.split("\n")[-1] == "30000"


async def test_two_agents_take_turns(terminals: TerminalTools) -> None:
    await terminals.open_shell()
    both = await asyncio.gather(
        terminals.run("terminal", command="echo first; sleep 0.2", agent="0001"),
        terminals.run("terminal", command="echo second", agent="0002"),
    )
    assert [ran.data["output"] for ran in both] == ["first", "second"]


async def test_output_is_data_without_escapes(terminals: TerminalTools) -> None:
    ran = await terminals.run("terminal", command=r"printf 'a\033]52;c;aGk=\007b\033[31mred\033[0m\n'")
    assert ran.data["output"] == "abred"


async def test_catastrophes_are_refused_and_every_run_is_asked_about(terminals: TerminalTools, tmp_path: Path) -> None:
    with pytest.raises(CommandError, match="always refused"):
        await terminals.run("terminal", command="rm -rf /")
    asked = await terminals.assess("terminal", command="git status", call="c1")
    assert asked.effect.value == "execute"
    assert asked.pattern == ""
    assert "with your configuration" in asked.detail
    assert not (await terminals.assess("terminal", command="cat /etc/passwd")).inside


async def test_what_was_approved_for_one_folder_does_not_run_in_another(
    terminals: TerminalTools, tmp_path: Path
) -> None:
    pane = await terminals.open_shell()
    (tmp_path / "elsewhere").mkdir()
    await terminals.assess("terminal", command="touch made", call="c1")
    await terminals.type_as_person(pane, "cd elsewhere\r")
    await terminals.wait_for_prompt(pane)
    with pytest.raises(CommandError, match="When you got approval"):
        await terminals.run("terminal", command="touch made", call="c1")
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
    ran = await TerminalTools(tmux, tmp_path, shell=str(nowhere / shell)).run("terminal", command="echo here")
    assert ran.data["output"] == "here"
