"""The small model on a loopback server: summaries of calls, and output that a person wants short."""

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

from gshtui.bus.call_data import CallWindow, Principal
from gshtui.bus.events.agent_events import PromptSubmitted, TurnFinished
from gshtui.bus.events.session_events import SessionTitled
from gshtui.calls.call_service import CallService
from gshtui.commands.declaration import CommandError
from gshtui.fleet.mail.call_post import CallMail
from gshtui.hub.composition import build_hub
from gshtui.hub.hub import Hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from gshtui.system.expected_error import ExpectedError
from gshtui.system.ids import new_id
from tests.kit.command import CommandResult
from tests.kit.loopback.apis import loopback, variables
from tests.kit.loopback.script import Say
from tests.kit.mail_harness import open_mail
from tests.kit.warm_program import run_gsh

AMY = Principal("person", "amy")


async def gsh(*words: str, cwd: Path, stdin: bytes = b"", env: dict[str, str]) -> CommandResult:
    return await asyncio.to_thread(run_gsh, *words, cwd=cwd, stdin=stdin, env=env)


async def test_a_model_summarises_a_call_for_those_who_missed_it(tmp_path: Path) -> None:
    asked: list[tuple[str, str, int]] = []

    async def ask(prompt: str, agent: str, tokens: int) -> str:
        asked.append((prompt, agent, tokens))
        return f"Summary {len(asked)}. \x1b[31m"

    async with open_mail(tmp_path / "gsh.db") as m:
        post = CallMail(m.store, m.service.outbox, lambda: ["main"], m.service)
        calls = CallService(m.main.bus, m.store, post, "amy", ask)
        await calls.create("audio", AMY, topic="JACK")
        await calls.join("audio", AMY)
        for number in range(6):
            await calls.post_message(AMY, "", f"line {number}", alone=False)
        two = await m.add_agent("two", kind="native")
        await calls.set_window("audio", CallWindow("summary", last=2, summarizer="two", summary_tokens=500), AMY)
        await calls.invite("two", "audio", AMY)
        put = await calls.post_message(AMY, "", "@two what now?")
        letter = await m.store.mail.find(put.asks[0].letter)
        assert "> Summary 1." in letter.text and "line 5" in letter.text and "line 2" not in letter.text
        assert "\x1b" not in letter.text
        prompt, agent, tokens = asked[0]
        assert agent == two.id and tokens == 1_000 and "> [2] amy: line 2" in prompt and "line 5" not in prompt
        assert (await m.store.calls.find("audio")).summary_to == 4
        for number in range(6, 12):
            await calls.post_message(AMY, "", f"line {number}", alone=False)
        await m.store.calls.mark_seen("audio", two.id, put.seq)
        await calls.post_message(AMY, "", "@two and now?")
        assert len(asked) == 2 and "> Summary 1." in asked[1][0] and "line 2" not in asked[1][0]
        done = await calls.summarise("audio", AMY)
        assert done.summary.startswith("Summary 3") and done.summary_to == done.messages - 1
        with pytest.raises(CommandError, match="Nothing was said"):
            await calls.summarise("audio", AMY)


async def test_without_a_model_the_member_is_asked_all_the_same(tmp_path: Path) -> None:
    async def ask(_prompt: str, _agent: str, _tokens: int) -> str:
        raise ExpectedError("No model is connected.")

    async with open_mail(tmp_path / "gsh.db") as m:
        post = CallMail(m.store, m.service.outbox, lambda: ["main"], m.service)
        calls = CallService(m.main.bus, m.store, post, "amy", ask)
        await calls.create("audio", AMY)
        await calls.join("audio", AMY)
        for number in range(4):
            await calls.post_message(AMY, "", f"line {number}", alone=False)
        await m.add_agent("two", kind="native")
        await calls.set_window("audio", CallWindow("summary", last=1), AMY)
        await calls.invite("two", "audio", AMY)
        put = await calls.post_message(AMY, "", "@two well?")
        text = (await m.store.mail.find(put.asks[0].letter)).text
        assert not put.asks[0].refused and "4 earlier messages are left out" in text
        with pytest.raises(ExpectedError, match="No model is connected"):
            await calls.summarise("audio", AMY)
        await calls.set_window("audio", CallWindow("summary", summarizer="nobody"), AMY)
        with pytest.raises(CommandError, match="no agent in the call"):
            await calls.summarise("audio", AMY)


async def test_a_call_and_long_output_by_commands(tmp_path: Path) -> None:
    (tmp_path / "big.txt").write_text("".join(f"{n} \x1b[31mbottles\n" for n in range(9_000)), encoding="utf-8")
    async with loopback("anthropic", [[Say("They chose JACK.")], [Say("9,000 bottles.")]]) as server:
        env = variables("anthropic", server.url)
        for line in ("create audio", "join audio", "say JACK it is"):
            assert (await gsh("run", line, cwd=tmp_path, env=env)).code == 0
        window = "calls window kind=summary keep_recent=5 summary_max_tokens=300"
        data = json.loads((await gsh("run", "--json", window, cwd=tmp_path, env=env)).out)
        assert (data["window"]["last"], data["window"]["summary_tokens"]) == (5, 300)
        ran = await gsh("run", "calls summarise", cwd=tmp_path, env=env)
        assert (ran.code, ran.out) == (0, "They chose JACK.\n"), ran.err
        ran = await gsh("run", "--json", "cat big.txt | brief words=20", cwd=tmp_path, env=env)
        data: Any = json.loads(ran.out)
        assert len(str(data)) > 100_000, "the data stays whole"
    said = str(server.requests[-1].body)
    assert "8999" in said and "characters are left out" in said and "\\x1b" not in said and len(said) < 90_000
    assert server.refused == []


async def test_without_a_model_it_is_one_sentence(tmp_path: Path) -> None:
    ran = await gsh("run", "echo hello | brief", cwd=tmp_path, env={})
    assert ran.code == 1 and "No model is connected" in ran.err
    ran = await gsh("run", "brief", cwd=tmp_path, env={})
    assert ran.code == 2 and "no output to shorten" in ran.err


async def test_the_model_of_an_agent_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with loopback("anthropic", [[Say("Yes.")]], repeat=True) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        options = HubOptions(cwd=tmp_path, loaded=load(tmp_path), parts=frozenset({"store"}), visiting=True)
        hub: Hub = build_hub(options)
        await hub.start()
        try:
            assert await hub.small_model.ask("Well?", tokens=2_000) == "Yes."
            assert server.requests[-1].body["max_tokens"] == 2_000
            with pytest.raises(ExpectedError, match="no agent 'nobody'"):
                await hub.small_model.ask("Well?", "nobody")
        finally:
            await hub.stop()


async def test_a_provider_is_checked_by_one_short_question(tmp_path: Path) -> None:
    async with loopback("anthropic", [[Say("yes")]]) as server:
        env = variables("anthropic", server.url)
        ran = await gsh("run", "--json", "provider check anthropic", cwd=tmp_path, env=env)
        assert ran.code == 0, ran.err
        assert json.loads(ran.out)["provider"] == "anthropic"
        assert len(server.requests) == 1 and len(str(server.requests[0].body["messages"])) < 200
    ran = await gsh("run", "provider check anthropic", cwd=tmp_path, env=env)
    assert ran.code == 1 and "Traceback" not in ran.err
    ran = await gsh("run", "provider check openai", cwd=tmp_path, env=env)
    assert ran.code == 1 and "OPENAI_API_KEY is not set" in ran.err


async def test_a_conversation_is_named_after_its_first_turn(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = [[Say("Hello.")], [Say("\x1b[1m“Greetings of a friend”.")], [Say("Again.")], [Say("And a name.")]]
    async with loopback("anthropic", script) as server:
        for name, value in variables("anthropic", server.url).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("GSH_AGENT__SMALL_MODEL", "haiku")
        options = HubOptions(cwd=tmp_path, loaded=load(tmp_path), visiting=True)
        hub: Hub = build_hub(options)
        titled = asyncio.Event()
        hub.bus.subscribe(lambda _: titled.set(), SessionTitled, name="test")
        await hub.start()
        try:
            assert hub.store is not None
            hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text="Say hello\nto me"))
            async with asyncio.timeout(30):
                await titled.wait()
            (info,) = await hub.store.sessions.find_all(cwd=str(tmp_path), limit=5)
            assert info.title == "Greetings of a friend"
            assert "> Say hello\n> to me" in str(server.requests[1].body["messages"][0]["content"][0]["text"])
            done = asyncio.Event()
            hub.bus.subscribe(lambda _: done.set(), TurnFinished, name="test turns")
            hub.bus.publish(PromptSubmitted(prompt=new_id(), agent="main", text="Once more"))
            async with asyncio.timeout(30):
                await done.wait()
            assert len(server.requests) == 3  # it is named once
        finally:
            await hub.stop()
