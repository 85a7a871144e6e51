"""A plugin as an installed package: nothing of it runs before it is approved, and all of it works afterwards."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from msgspec.structs import replace

from gshtui.agents.personas import load_personas
from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import Caller, Command, Invocation, Outcome, Parameters
from gshtui.commands.registry import Registry
from gshtui.commands.schema import tool_schema
from gshtui.fleet.mail.mail_service import MailService
from gshtui.hub.plugin_offers import add_plugins, commands_of, made_by
from gshtui.hub.provision import Provision
from gshtui.programs.profiles import profile_files
from gshtui.settings import plugins
from gshtui.settings.contract import PLUGIN_KINDS
from gshtui.settings.plugins import LoadedContribution, Plugin, PluginError, PluginPart
from tests.kit.command import ROOT, CommandResult
from tests.kit.scripted_provider import Recorder
from tests.kit.warm_program import SDKS, shared

EXAMPLE = Path(__file__).resolve().parents[1] / "fixtures" / "plugin"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example, installed into a folder of its own by pip, from its source and without a network."""
    folder = tmp_path_factory.mktemp("site")
    options = ("--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check")
    command = [sys.executable, "-m", "pip", "install", *options, "--target", str(folder), str(EXAMPLE)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    assert ran.returncode == 0, ran.stderr
    return folder


@pytest.fixture
def installed(site: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The package is importable here and in child processes."""
    monkeypatch.syspath_prepend(str(site))
    yield site
    for name in [name for name in sys.modules if name.partition(".")[0] == "gsh_example"]:
        del sys.modules[name]


def ran_with(site: Path, *words: str, cwd: Path) -> CommandResult:
    call = "tests.kit.plugin_command:main"
    return shared(*SDKS).start(*words, call=call, cwd=cwd, env={"PYTHONPATH": f"{ROOT}:{site}"}).finish()


def run(site: Path, *words: str, cwd: Path) -> str:
    ran = ran_with(site, *words, cwd=cwd)
    assert ran.code == 0, ran.err
    return ran.out


def test_nothing_is_loaded_before_it_is_approved_and_all_of_it_afterwards(installed: Path, tmp_path: Path) -> None:
    assert ran_with(installed, "run", "reverse abc", cwd=tmp_path).code == 2
    listed = json.loads(run(installed, "plugins", "ls", "--json", cwd=tmp_path))
    assert [(one["name"], one["state"]) for one in listed["plugins"]] == [("gsh-example", "new")]
    assert {one["kind"] for one in listed["plugins"][0]["contributions"]} == set(PLUGIN_KINDS)
    refused = ran_with(installed, "plugins", "approve", "gsh-example", cwd=tmp_path)
    assert refused.code == 4 and "Its code may do whatever you may" in refused.err and "--yes" in refused.err
    said = run(installed, "plugins", "approve", "gsh-example", "--yes", cwd=tmp_path)
    assert "gsh_example.parrot:OFFER" in said, "it says what it brings"
    assert run(installed, "run", "reverse abc", cwd=tmp_path) == "cba\n"
    assert json.loads(run(installed, "run", "--json", "echo 'a b c' | count_words", cwd=tmp_path)) == {"words": 3}
    assert ran_with(installed, "run", "--as", "main", "reverse abc", cwd=tmp_path).code == 2, "it is for people"
    assert "You said: hello" in run(installed, "prompt", "--provider", "parrot", "hello", cwd=tmp_path)
    assert "proofread" in run(installed, "run", "personas", cwd=tmp_path)
    run(installed, "plugins", "off", cwd=tmp_path)
    assert ran_with(installed, "run", "reverse abc", cwd=tmp_path).code == 2
    run(installed, "plugins", "on", cwd=tmp_path)
    run(installed, "plugins", "revoke", "gsh-example", cwd=tmp_path)
    assert ran_with(installed, "run", "reverse abc", cwd=tmp_path).code == 2


def test_an_update_is_approved_again_and_announced_once(installed: Path) -> None:
    assert [one.name for one in plugins.announced()] == ["gsh-example"]
    assert plugins.announced() == []
    plugins.approve("gsh-example")
    assert [one.found is not None for one in plugins.load_contributions("personas")] == [True]
    record = next(installed.glob("gsh_example-*.dist-info/RECORD"))
    before = record.read_text(encoding="utf-8")
    try:
        record.write_text(before.replace("sha256=", "sha256=A", 1), encoding="utf-8")
        assert [one.state for one in plugins.find_plugins()] == ["changed"]
        assert list(plugins.load_contributions("personas")) == []
        assert [one.name for one in plugins.announced()] == ["gsh-example"]
    finally:
        record.write_text(before, encoding="utf-8")


def test_personas_and_profiles_of_a_plugin(installed: Path, tmp_path: Path) -> None:
    assert "proofread" not in load_personas(tmp_path).found
    plugins.approve("gsh-example")
    found = load_personas(tmp_path)
    assert found.get("proofread").source == "plugin gsh-example" and found.problems == []
    profiles = profile_files.load()
    assert profiles.for_argv(["gnuplot", "-p"]).name == "gnuplot" and profiles.problems == ()


def test_approvals_that_others_can_write_or_nobody_can_read_approve_nothing(installed: Path) -> None:
    plugins.approve("gsh-example")
    file = plugins.approvals_file()
    assert file.stat().st_mode & 0o777 == 0o600
    file.chmod(0o622)
    with pytest.raises(PluginError, match="can be written by others"):
        list(plugins.load_contributions("commands"))
    file.chmod(0o600)
    file.write_bytes(b"{" * 5_000)
    with pytest.raises(PluginError, match="cannot be read"):
        list(plugins.load_contributions("commands"))
    with pytest.raises(PluginError, match="no plugin"):
        file.unlink()
        plugins.approve("nosuch")


class _NoParameters(Parameters):
    """None."""


async def _done(_invocation: Invocation, _parameters: _NoParameters) -> Outcome:
    return Outcome(None, "done")


def made(name: str) -> Command[_NoParameters]:
    return Command(name, "Does it", _NoParameters, _done)


def brought(found: object) -> LoadedContribution:
    plugin = Plugin("p", "1", "", "", (PluginPart("commands", "c", "m:c"),))
    return LoadedContribution(plugin, "c", found)


def test_a_plugin_replaces_nothing_of_ours() -> None:
    registry = Registry([made("ours")])
    with pytest.raises(ValueError, match="already"):
        registry.add(made("ours"))
    registry.add(made("later"))
    with pytest.raises(ValueError, match="already"):
        registry.add(made("later"))
    mine = made("later")
    registry.register(mine)
    assert registry.get("later") is mine and registry.names() == ["later", "ours"]
    registry.add(made("offered"))
    registry.offer(["offered"], lambda: [made("offered")])
    assert "offered" in registry.names()


def _fails() -> object:
    raise OSError("no disk")


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (3, "no command"),
        ([], "no command"),
        ("text", "no command"),
        ([made("good"), 3], "no command"),
        (made("two words"), "cannot be a command's name"),
        (made("\x1b[2J"), "cannot be a command's name"),
        (replace(made("peek"), does="read"), "declares `does`"),
        (replace(made("peek"), acts=True), "declares `does` or `acts`"),
        (_fails, "OSError: no disk"),
    ],
)
def test_what_is_no_command_is_refused_in_words(found: object, said: str) -> None:
    with pytest.raises(ValueError, match=said):
        commands_of(brought(found), Provision(), as_tools=False)
    with pytest.raises(ValueError, match="not declared as a tool"):
        commands_of(brought(made("plain")), Provision(), as_tools=True)


def test_a_module_that_fails_to_import_leaves_the_rest_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "broken_plugin.py").write_text("raise RuntimeError('\\x1b[31mno')\n", encoding="utf-8")
    info = tmp_path / "broken_plugin-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken-plugin\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[gshtui.commands]\nx = broken_plugin:x\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path))
    plugins.approve("broken-plugin")
    ran = ran_with(tmp_path, "run", "echo hello", cwd=tmp_path)
    assert (ran.code, ran.out) == (0, "hello\n")
    assert "broken-plugin could not be loaded" in ran.err and "\x1b" not in ran.err and "Traceback" not in ran.err


def test_the_tool_of_the_example_has_a_schema(installed: Path) -> None:
    plugins.approve("gsh-example")
    (one,), (counter,) = plugins.load_contributions("tools"), plugins.load_contributions("things")
    things = Provision()
    things.add_later(counter.name, lambda: made_by(counter))
    (command,) = commands_of(one, things, as_tools=True)
    assert list(tool_schema(command)["properties"]) == ["text"]
    assert Caller("main", is_agent=True).is_agent


async def test_what_a_plugin_brings_in_place_of_ours_is_its_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    """Also of a part that starts after it."""
    plugin = Plugin("p", "1", "", "", (PluginPart("things", "MailService", "m:c"),))
    theirs, ours = LoadedContribution(plugin, "MailService", object), object()
    monkeypatch.setattr(plugins, "load_contributions", lambda kind: [theirs] if kind == "things" else [])
    bus, things = Bus(), Provision()
    told = Recorder(bus)
    await add_plugins(Registry(), bus, things)

    def mail() -> "MailService":
        return cast("MailService", ours)

    things.add(mail)
    await bus.drained()
    assert things.get(mail) is ours
    assert [one.text for one in told.of(Noticed)] == [
        "The plugin p brings MailService, which is not used: there is a MailService already."
    ]
    await bus.close()
