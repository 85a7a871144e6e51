"""A file or folder that a prompt names with `@` goes to the model with the prompt, as far as it may be read unasked."""

import os
from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import ToolFinished
from gshtui.settings import trust
from gshtui.ui.conversation.conversation_entries import entries_of
from gshtui.ui.kit.transcript.entries import PromptEntry
from tests.kit.loopback.script import Call, Say
from tests.kit.mcp_turns import agent_with, ask


async def test_what_a_prompt_names_goes_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    (project / "sub").mkdir(parents=True)
    (project / "notes.txt").write_text("the ZEBRA line\n")
    (project / "sub/inside.txt").write_text("not asked for")
    (project / "long.txt").write_text("".join(f"line {number} {'x' * 80}\n" for number in range(5_000)))
    (project / os.fsdecode(b"caf\xe9.txt")).write_text("the DINGO line\n")
    (project / ".env").write_text("NAME=OKAPI\n")
    (tmp_path / "elsewhere.txt").write_text("GIRAFFE")
    edit = Call("edit", {"path": "notes.txt", "old_text": "ZEBRA", "new_text": "QUAGGA"})
    async with agent_with(project, monkeypatch, [[edit], [Say("done")]]) as (hub, provider, recorder):
        await hub.run("mode edit")
        named = r"@notes.txt and @sub, @$'caf\xe9.txt', (@long.txt) @.env @../elsewhere.txt @nobody @notes.txt."
        await ask(hub, f"Explain {named}")
        (call,) = [event for event in recorder.events if isinstance(event, ToolFinished)]
        assert call.status == "ok", "what was read with the prompt need not be read again before an edit"
        assert hub.store is not None
        stored = await hub.store.messages.read(call.session)
        (prompt,) = [one.message for one in stored if one.message.role == "user"]
        assert prompt.text.startswith("Explain @notes.txt") and "ZEBRA" not in prompt.text, "the person's words alone"
        (entry,) = entries_of(prompt)
        assert isinstance(entry, PromptEntry) and entry.text == prompt.text
        assert entry.attachments[:2] == ("notes.txt · 1 line", "sub · 1 line")
        sent = str(next(request.body for request in provider.requests if request.body)["messages"])
    assert sent.count("the ZEBRA line") == 1
    assert r"$'caf\\xe9.txt', which the prompt names" in sent and "the DINGO line" in sent
    assert "inside.txt" in sent and "not asked for" not in sent
    assert "line 0 " in sent and "line 4000 " not in sent and "start_line=" in sent
    assert "OKAPI" not in sent and "GIRAFFE" not in sent
    assert "@.env was not read: that needs the person" in sent
    assert "@../elsewhere.txt was not read" in sent


async def test_the_instructions_nearest_to_a_file_go_with_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project = tmp_path / "project"
    (project / ".git").mkdir(parents=True)
    (project / "part").mkdir()
    (project / "part/AGENTS.md").write_text("Say AXOLOTL here.")
    (project / "part/code.py").write_text("x = 1\n")
    trust.trust(project, None, trust.brought(project))
    read = [Call("read", {"path": "part/code.py"})]
    async with agent_with(project, monkeypatch, [read, read, [Say("done")], [Say("done")]]) as (hub, provider, _):
        await ask(hub, "Look at the code.")
        await ask(hub, "Go on.")
    first, second, third, fourth = (request.body for request in provider.requests if request.body)
    assert "AXOLOTL" not in str(first), "nobody has been there"
    assert str(second["messages"]).count("AXOLOTL") == str(third["messages"]).count("AXOLOTL") == 1
    assert "AXOLOTL" in str(fourth["system"]), "there it stays, whatever is cut"
