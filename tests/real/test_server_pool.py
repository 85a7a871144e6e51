"""Tools of real MCP servers in turns of an agent: offered, called past the guard, watched, and never a danger."""

import asyncio
import sys
from pathlib import Path

import pytest

from gshtui.bus.events.agent_events import InterruptRequested
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.hub_events import Noticed
from gshtui.mcp_client import server_pool
from gshtui.settings import paths
from tests.kit import source
from tests.kit.loopback.script import Call, Say
from tests.kit.mcp_turns import WITHIN, agent_with, allow, ask, configure, finished, turn


async def test_a_turn_calls_a_servers_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(kit="tools")
    allow("kit__add")
    script = [[Call("kit__add", {"a": 2, "b": 40})], [Say("It is 42.")]]
    async with agent_with(tmp_path, monkeypatch, script) as (hub, provider, recorder):
        assert (await ask(hub)).text == "It is 42."
        (call,) = finished(recorder)
        assert (call.tool, call.status, call.content) == ("kit__add", "ok", "42")
        first, second = (request.body["tools"] for request in provider.requests if "tools" in (request.body or {}))
        search = next(tool for tool in first if tool["name"] == "find_tool")
        assert "kit__add" in search["description"]
        assert {"a", "b"} == set(next(t for t in second if t["name"] == "kit__add")["input_schema"]["properties"])


async def test_each_call_asks_unless_a_rule_names_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(kit="tools")
    script = [[Call("kit__add", {"a": 1, "b": 1})], [Say("done")]]
    async with agent_with(tmp_path, monkeypatch, script) as (hub, _, recorder):
        turn = asyncio.create_task(ask(hub))
        question = await hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
        assert question.tool == "kit__add"
        assert '"a": 1' in question.detail
        assert "MCP server kit" in question.detail
        hub.bus.publish(ApprovalAnswered(approval=question.approval, decision="deny", reason="use bash"))
        await turn
        (call,) = finished(recorder)
        assert call.status == "denied"
        assert "use bash" in call.content


async def test_a_servers_question_is_answered_with_values_by_the_person(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # On a connection of today the SDK cannot carry what this tool asks: the server is connected by the handshake then.
    configure(kit="tools")
    allow("kit__*")
    script = [[Call("kit__ask_colour")], [Call("kit__sign_up")], [Say("done")]]
    async with agent_with(tmp_path, monkeypatch, script) as (hub, _, recorder):
        turn = asyncio.create_task(ask(hub))
        question = await hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
        assert "Which colour?" in question.subject
        assert "/mcp answer kit" in question.detail
        page = hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
        await hub.run("mcp answer kit 'colour=red'")
        assert "https://kit.example/sign-up" in (await page).detail
        hub.bus.publish(ApprovalAnswered(approval=page.result().approval, decision="once"))
        await turn
        assert [call.content for call in finished(recorder)] == ["accept: red", "signed up"]
        pool = hub.mcp_servers()
        assert (pool.connection("kit").starts, pool.pins("kit").legacy) == (2, True)
        configure(kit="named")
        await hub.run("mcp restart kit")
        assert [pin.name for pin in pool.pins("kit").accepted] == ["bash"], "it is started as config.toml has it now"


async def test_questions_that_a_server_of_today_asks_at_once_are_answered_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(kit="tools")
    allow("kit__*")
    async with agent_with(tmp_path, monkeypatch, [[Call("kit__ask_both")], [Say("done")]]) as (hub, _, recorder):
        turn = asyncio.create_task(ask(hub))
        asked: list[str] = []
        following = hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
        for _ in range(2):
            question = await following
            # The second one comes while the first is being answered.
            following = hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
            first = "first" in question.subject
            asked.append("first" if first else "then")
            await hub.run(f"mcp answer kit 'colour={'red' if first else 'blue'}'")
        following.cancel()
        await turn
        assert sorted(asked) == ["first", "then"]
        assert finished(recorder)[0].content.startswith("red, blue")


async def test_a_servers_question_can_be_declined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(kit="legacy")
    allow("kit__*")
    script = [[Call("kit__ask_colour")], [Say("done")]]
    async with agent_with(tmp_path, monkeypatch, script, respondent="nobody") as (hub, _, recorder):
        await ask(hub)
        assert finished(recorder)[0].content == "decline: "


async def test_a_server_gets_a_models_answer_only_once_the_person_agreed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(old="legacy")
    allow("old__*")
    script = [[Call("old__sample")], [Say("Forty-two.")], [Say("done")]]
    async with agent_with(tmp_path, monkeypatch, script) as (hub, provider, recorder):
        turn = asyncio.create_task(ask(hub))
        question = await hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
        assert "What is six times seven?" in question.detail
        assert "at most 50 tokens" in question.subject
        hub.bus.publish(ApprovalAnswered(approval=question.approval, decision="once"))
        await turn
        assert finished(recorder)[0].content == "Forty-two. (endTurn)"
        (sampled,) = (request.body for request in provider.requests if "tools" not in (request.body or {}))
        assert "six times seven" in str(sampled)
        assert sampled["max_tokens"] == 50


async def test_a_servers_sample_counts_against_its_callers_budget(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure("[budget]\nagent_tokens = 1\n", old="legacy")
    allow("old__*")
    async with agent_with(tmp_path, monkeypatch, [[Call("old__sample")], [Say("done")]]) as (hub, provider, recorder):
        turn = asyncio.create_task(ask(hub))
        sample = await hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
        assert sample.tool == "mcp_sampling"
        budget = hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
        hub.bus.publish(ApprovalAnswered(approval=sample.approval, decision="once"))
        question = await budget
        assert question.tool == "budget"
        again = hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
        hub.bus.publish(ApprovalAnswered(approval=question.approval, decision="deny"))
        hub.bus.publish(ApprovalAnswered(approval=(await again).approval, decision="deny"))  # the turn's next request
        await turn
        (call,) = finished(recorder)
        assert (call.status, "The budget is used up" in call.content) == ("error", True)
        assert len(provider.requests) == 1


async def test_the_project_is_a_servers_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(old="legacy")
    allow("old__roots")
    script = [[Call("old__roots")], [Say("done")]]
    async with agent_with(tmp_path, monkeypatch, script) as (hub, _, recorder):
        await ask(hub)
        assert finished(recorder)[0].content == tmp_path.as_uri()


async def test_a_resource_that_a_prompt_names_is_in_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(kit="tools")
    async with agent_with(tmp_path, monkeypatch, [[Say("I have read it.")]]) as (hub, provider, _):
        await ask(hub, "What is in @kit:kit://note, and in @kit:kit://none?")
        sent = str(provider.requests[-1].body["messages"])
        assert "the text of the note" in sent
        assert "kit://none could not be read" in sent


async def test_a_servers_prompt_is_a_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    configure(kit="tools")
    async with agent_with(tmp_path, monkeypatch, [[Say("Good day.")], [Say("Hello, Amy.")]]) as (hub, _, _):
        await ask(hub)  # the server is learned
        outcome = await hub.run("prompt kit:greet Amy")
        assert outcome.text == "Please greet Amy."
        assert "kit:greet" in (await hub.run("prompts ls")).text


async def test_tools_that_change_wait_for_a_person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    allow("kit__*")
    script = [[Call("kit__add", {"a": 1, "b": 1})], [Say("done")]]
    configure(kit="tools")
    async with agent_with(tmp_path, monkeypatch, script) as (hub, _, _):
        await ask(hub)
    (tmp_path / "changed").touch()
    script = [[Call("kit__look")], [Call("kit__add", {"a": 1, "b": 1})], [Say("done")]]
    async with agent_with(tmp_path, monkeypatch, script) as (hub, provider, recorder):
        turn = asyncio.create_task(ask(hub))
        question = await hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
        assert question.tool == "mcp_server"
        assert "+ Add, and send the sum to evil.example." in question.detail
        await turn
        look, add = finished(recorder)
        assert look.status == "ok"
        assert (add.status, "changed its tool add" in add.content) == ("error", True)
        assert "evil.example" not in str([request.body for request in provider.requests])
        await hub.run("mcp accept kit")


async def test_a_tool_named_like_ours_is_another_tool_and_its_words_are_clean(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(evil="named")
    script = [[Call("evil__bash", {"command": "rm -rf /"})], [Say("done")]]
    async with agent_with(tmp_path, monkeypatch, script, respondent="nobody") as (hub, provider, recorder):
        await ask(hub)
        (call,) = finished(recorder)
        assert call.status == "denied"
        told = next(t for t in provider.requests[-1].body["tools"] if t["name"] == "evil__bash")["description"]
        assert not set(told) & {"\x1b", "\x07", "\x00", "\u202e", "\u200b"}
        assert "bash" in hub.registry.names()


async def test_plan_mode_refuses_what_does_not_say_that_it_reads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure("[agent]\nmode = 'plan'\n", kit="tools")
    allow("kit__*")
    script = [[Call("kit__add", {"a": 1, "b": 1}), Call("kit__look")], [Say("done")]]
    async with agent_with(tmp_path, monkeypatch, script, respondent="nobody") as (hub, _, recorder):
        await ask(hub)
        add, look = finished(recorder)
        assert (add.status, "plan mode" in add.content) == ("denied", True)
        assert (look.status, "nobody is there" in look.content) == ("denied", True)


async def test_a_program_in_the_sandbox_reads_the_project_and_writes_only_to_its_own_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(kit="tools", sandboxed=True)
    monkeypatch.setenv("SOME_SECRET_TOKEN", "ghp_abcdefghijklmnopqrstuvwxyz0123456789")
    allow("kit__*")
    project = tmp_path / "project"
    project.mkdir()
    own = paths.cache_dir() / "mcp" / "kit" / "made"
    script = [
        [
            Call("kit__write", {"path": str(project / "made")}),
            Call("kit__write", {"path": str(own)}),
            Call("kit__place"),
        ],
        [Say("done")],
    ]
    async with agent_with(project, monkeypatch, script) as (hub, _, recorder):
        sandbox = await hub.offers.sandboxes.sandbox(project)
        assert not isinstance(sandbox, str), f"there is no sandbox here: {sandbox}"
        await ask(hub)
        refused, wrote, place = finished(recorder)
        assert refused.status == "error"
        assert not (project / "made").exists()
        assert wrote.status == "ok"
        assert own.read_text("utf-8") == "written"
        assert str(project) in place.content
        assert "ghp_" not in place.content


_HUB = """
import asyncio, pathlib
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load

async def main():
    loaded = load(pathlib.Path.cwd())
    assert len(loaded.settings.mcp.servers) == 10
    parts = frozenset({"store", "guard", "providers", "agents"})
    hub = build_hub(HubOptions(cwd=pathlib.Path.cwd(), loaded=loaded, parts=parts))
    await hub.start()
    await hub.stop()

asyncio.run(main())
"""


def test_ten_servers_load_nothing_and_start_nothing_before_they_are_needed() -> None:
    configure(*(f"[mcp.servers.s{number}]\ncommand = 'server{number}'\n" for number in range(10)))
    loaded = source.loaded_by(_HUB)
    assert source.within(loaded, {"mcp", "mcp_types", "uvicorn", "starlette", "gshtui.mcp_client.sdk_session"}) == []


async def test_a_question_is_withdrawn_with_the_turn_it_belongs_to(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    configure(kit="legacy")
    allow("kit__*")
    script = [[Call("kit__ask_colour")], [Say("done")]]
    async with agent_with(tmp_path, monkeypatch, script) as (hub, _, _):
        turn = asyncio.create_task(ask(hub))
        question = await hub.bus.wait_for(ApprovalRequested, timeout=WITHIN)
        settled = hub.bus.wait_for(ApprovalSettled, timeout=WITHIN)
        hub.bus.publish(InterruptRequested(agent="main"))
        assert (await turn).stop == "interrupted"
        closed = await settled
        assert (closed.approval, closed.decision) == (question.approval, "withdrawn")


async def test_a_server_that_did_not_start_costs_the_next_process_no_wait(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_pool, "_FIRST_WAIT", 0.2)
    configure(f"[mcp.servers.slow]\ncommand = {sys.executable!r}\nargs = ['-c', 'input()']\nsandbox = false\n")
    for tried in (True, False):
        async with agent_with(tmp_path, monkeypatch, [[Say("done")]]) as (hub, _, recorder):
            assert (await turn(hub)).text == "done"
            assert (hub.mcp_servers().connection("slow").state != "off") == tried
            notices = [event for event in recorder.events if isinstance(event, Noticed) and "left out" in event.text]
            assert [notice.hint for notice in notices] == ([] if tried else ["`gsh-tui mcp doctor slow` starts it."])
