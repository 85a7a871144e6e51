"""The gate: what was always allowed is listed and taken back; only answers that were offered to a question count."""

import asyncio
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from gshtui.agents.commands.approval_commands import KeepApproval
from gshtui.bus.agent_data import AgentRow, SpawnRequest
from gshtui.bus.bus import Bus
from gshtui.bus.events.approval_events import ApprovalAnswered, ApprovalRequested, ApprovalSettled
from gshtui.bus.events.fleet_events import AgentChanged, AgentEnded
from gshtui.bus.events.hub_events import Noticed
from gshtui.commands.declaration import Assessment, Caller, CommandError, Effect, RuleScope, Unconfirmed, UsageError
from gshtui.guard.approval.gate import Call, Gate
from gshtui.guard.rules.rule_book import RuleFiles, parse_rules, read_rules
from gshtui.guard.rules.rule_draft import grant_rule
from gshtui.guard.rules.rule_file import RuleFileError, add_rule, own_file, remove_rule
from gshtui.hub.composition import build_hub
from gshtui.hub.hub_options import HubOptions
from gshtui.settings.loader import load
from tests.kit.home import Home
from tests.kit.native_agents import EventLog
from tests.kit.running_hub import heard_hub, running_hub, started_hub


def call(command: str) -> Call:
    return Call("main", "s", "c", "bash", {"command": command})


ASSESSMENT = Assessment(
    Effect.EXECUTE, "pytest", inside=False, key="pytest", pattern="pytest -q …", scope=RuleScope("pytest", ("-q",))
)


async def test_rules_and_old_approvals_are_listed_kept_and_revoked(home: Home, tmp_path: Path) -> None:
    loaded = load(tmp_path)
    hub = build_hub(HubOptions(cwd=tmp_path, loaded=loaded, parts=frozenset({"store", "guard"}), respondent="nobody"))
    async with started_hub(hub):
        assert hub.failed == {} and hub.store is not None and hub.gate is not None
        assert "there are no rules" in (await hub.run("approvals")).text
        project = Path(str(hub.project))
        await hub.store.grants.add(str(project), "write", f"write files in {project}/src")
        await hub.store.grants.add(str(project), "bash", "pytest -q …")
        await hub.store.grants.add("/elsewhere", "bash", "rm …")
        listed = await hub.run("/permissions")
        assert "no effect until" in listed.text and "2. pytest -q … (bash, since " in listed.text
        assert "rm …" not in listed.text
        assert listed.data["always"][1] == {"number": 2, "tool": "bash", "pattern": "pytest -q …"}
        assert not (await hub.gate.review(call("pytest -q a"), ASSESSMENT)).allowed, (
            "a person has not seen it as a rule"
        )
        with pytest.raises(Unconfirmed, match="must see the rule"):
            await hub.run("approvals keep 2")  # nobody to ask
        seen = grant_rule("bash", "pytest -q …", project)
        with pytest.raises(CommandError, match="Number 1 is another approval now"):
            await hub.call(KeepApproval(number=1, seen=seen))
        assert not own_file().exists()
        kept = await hub.call(KeepApproval(number=2, seen=seen))
        assert (kept.rule.program, kept.rule.flags, kept.rule.project) == (("pytest",), ("-q",), str(project))
        assert (await hub.gate.review(call("pytest -q a"), ASSESSMENT)).allowed
        assert not (await hub.gate.review(call("pytest -q a -x"), ASSESSMENT)).allowed
        listed = await hub.run("approvals")
        assert f"{own_file()}:3)" in listed.plain and [one["pattern"] for one in listed.data["always"]] == [
            f"write files in {project}/src"
        ]
        seen = grant_rule("write", f"write files in {project}/src", project)
        assert (await hub.call(KeepApproval(number=2, seen=seen))).rule.paths == ("src", "src/*")
        taken = await hub.run("approvals revoke 1")
        assert "counts no more" in taken.text
        assert not (await hub.gate.review(call("pytest -q a"), ASSESSMENT)).allowed
        assert len(await hub.store.grants.find_all("/elsewhere")) == 1
        with pytest.raises(CommandError, match="There is no approval number 7"):
            await hub.run("approvals revoke 7")
        with pytest.raises(UsageError, match="number is missing"):
            await hub.run("approvals revoke")
        with pytest.raises(UsageError, match="for people only"):
            await hub.run("approvals", Caller("main", is_agent=True))


async def test_open_questions_and_what_was_allowed_for_a_conversation_are_listed(home: Home, tmp_path: Path) -> None:
    parts = frozenset({"store", "guard"})
    async with heard_hub(tmp_path, parts=parts, respondent="person") as (hub, heard):
        assert hub.failed == {} and hub.store is not None and hub.gate is not None
        review = asyncio.ensure_future(hub.gate.review(call("pytest -q a"), ASSESSMENT))
        asked = await heard.wait_for(ApprovalRequested)
        hub.bus.publish(msgspec.structs.replace(asked, approval="other", agent="0007", subject="rm \x1b[31m-rf build"))
        row = AgentRow(id="0007", name="lexer", status="waiting")
        hub.bus.publish(AgentChanged(agent="0007", row=row))
        far = AgentRow(id="", name="far", home="/elsewhere", status="waiting", doing="approval of bash make")
        await hub.store.agents.add(far, SpawnRequest())
        await hub.bus.drained()
        found = await hub.run("approvals")
        said = found.text.split("\n\n")
        assert said[0] == "These questions are open:"
        own, other, elsewhere = said[1].split("\n")
        assert own.startswith("- main: bash pytest (since ") and other.startswith("- lexer (0007): bash rm ")
        assert "\x1b" not in other
        assert elsewhere.startswith("- far (0001) waits in its terminal: approval of bash make")
        assert [(one["question"], one["agent"], one["here"]) for one in found.data["open"]] == [
            (asked.approval, "main", True),
            ("other", "0007", True),
            ("", "0001", False),
        ]
        assert found.data["session"] == []
        hub.bus.publish(ApprovalAnswered(approval=asked.approval, decision="session"))
        assert (await review).allowed
        hub.bus.publish(ApprovalSettled(approval="other", agent="0007", call="c", decision="session"))
        await hub.bus.drained()
        found = await hub.run("approvals")
        assert "Allowed until its agent ends, exactly as it was asked:\n\n- main: bash pytest\n- lexer" in found.text
        assert [(one["agent"], one["subject"]) for one in found.data["session"]][:1] == [("main", "pytest")]
        assert [one["agent"] for one in found.data["open"]] == ["0001"]
        hub.bus.publish(AgentEnded(agent="0007"))
        await hub.bus.drained()
        assert [one["agent"] for one in (await hub.run("approvals")).data["session"]] == ["main"]


async def test_the_rules_name_old_approvals_as_such_and_for_people_only(home: Home, tmp_path: Path) -> None:
    async with running_hub(tmp_path, parts=frozenset({"store"}), respondent="nobody") as hub:
        assert hub.failed == {} and hub.store is not None
        assert (await hub.run("guard rules")).data["old"] == []
        await hub.store.grants.add(str(hub.project), "bash", "pytest -q …")
        found = await hub.run("guard rules")
        assert found.data["old"] == [{"tool": "bash", "pattern": "pytest -q …"}] and found.data["rules"] == []
        assert found.text.endswith(
            "Old, and without effect until `approvals keep` makes rules of them:\n- bash: pytest -q …"
        )
        assert (await hub.run("guard rules", Caller("main", is_agent=True))).data["old"] == []


def test_a_file_of_rules_keeps_what_it_has(home: Home) -> None:
    file = own_file()
    rule = '[[rule]]\ndo = "allow"\nprogram = "make"\n'
    first = add_rule(file, rule)
    assert file.stat().st_mode & 0o777 == 0o600 and first.line == 3
    assert add_rule(file, rule) == first, "not twice"
    text = file.read_text() + '\n# Never.\n[[rule]]\ndo = "deny"\nprogram = "git push"\n# the end\n'
    file.write_text(text)
    second = add_rule(file, '[[rule]]\ndo = "allow"\nexactly = "npm ci"')
    assert second.line == 13 and file.read_text().startswith(text)
    with pytest.raises(RuleFileError, match="not one rule"):
        add_rule(file, rule.replace("make", "a") + rule.replace("make", "b"))
    before = file.read_text()
    for wrong in ('do = "allow"', "", '[[rule]]\ndo = "allow"\n', "[[rule]\n", "x = 1\n" + rule):
        with pytest.raises(RuleFileError):
            add_rule(file, wrong)
    assert file.read_text() == before
    remove_rule(file, first)
    assert [one.words for one in read_rules(file).rules] == ["deny program git push", "allow exactly npm ci"]
    assert "# Never.\n[[rule]]" in file.read_text() and "# the end" in file.read_text()
    with pytest.raises(RuleFileError, match="has changed meanwhile"):
        remove_rule(file, first)
    file.write_text(file.read_text() + "[[rule]]\ndo = 7\n")
    with pytest.raises(RuleFileError, match="Nothing can be added until it is corrected"):
        add_rule(file, rule)


async def test_what_cannot_be_saved_is_allowed_once_and_said(home: Home, tmp_path: Path) -> None:
    bus = Bus()
    heard = EventLog(bus)
    files = RuleFiles(own_file(), tmp_path)
    gate = Gate(
        bus,
        respondent="person",
        auto_approve=frozenset(),
        rules=files.current,
        save=lambda text: add_rule(own_file(), text),
    )
    task = asyncio.ensure_future(gate.review(call("pytest -q a"), ASSESSMENT))
    asked = await heard.wait_for(ApprovalRequested)
    assert 'program = "pytest"' in asked.rule and f'project = "{tmp_path}"' in asked.rule
    own_file().parent.mkdir(parents=True, exist_ok=True)
    own_file().write_text("[[rule]]\ndo = 7\n")  # since the question was asked
    bus.publish(ApprovalAnswered(approval=asked.approval, decision="always"))
    assert (await task).allowed
    assert (await heard.wait_for(ApprovalSettled)).decision == "once"
    assert "No rule was saved" in (await heard.wait_for(Noticed)).text
    await gate.close()
    await bus.close(timeout=2)


async def test_nothing_unknown_becomes_a_yes() -> None:
    bus = Bus()
    heard = EventLog(bus)
    gate = Gate(bus, respondent="person", auto_approve=frozenset())

    def ask(number: int) -> asyncio.Task[Any]:
        call = Call("main", "s", f"c{number}", "bash", {})
        return asyncio.ensure_future(gate.review(call, Assessment(Effect.EXECUTE, f"touch {number}")))

    first, second = ask(1), ask(2)
    one = await heard.wait_for(ApprovalRequested)
    other = await heard.wait_for(ApprovalRequested, number=2)
    bus.publish(ApprovalAnswered(approval="unknown", decision="once"))
    bus.publish(ApprovalAnswered(approval="", decision="once"))
    for strange in ("always", "Once", "yes", "", "reason", None):
        answer: Any = strange  # as a program that speaks for a person could say it
        bus.publish(ApprovalAnswered(approval=one.approval, decision=answer))
    await heard.wait_for(Noticed, number=6, level="warning")
    assert not first.done() and not second.done() and heard.of(ApprovalSettled) == []
    bus.publish(ApprovalAnswered(approval=one.approval, decision="deny"))
    bus.publish(ApprovalAnswered(approval=one.approval, decision="once"))
    assert not (await first).allowed and not second.done()
    bus.publish(ApprovalAnswered(approval=one.approval, decision="once"))
    bus.publish(ApprovalAnswered(approval=other.approval, decision="once"))
    assert (await second).allowed
    settled = [(event.approval, event.decision) for event in heard.of(ApprovalSettled)]
    assert settled == [(one.approval, "deny"), (other.approval, "once")]
    await gate.close()
    await bus.close(timeout=2)


async def test_rules_count_for_each_of_several_files() -> None:
    """A file that a rule denies is not read behind another, and a rule that allows one does not allow the rest."""
    deny = '[[rule]]\ntool = "read"\npaths = "secret/*"\ndo = "deny"\n'
    allow = '[[rule]]\ntool = "read"\npaths = "/tmp/ok.txt"\ndo = "allow"\n'
    free, denied = (
        Assessment(Effect.READ, path, key=f"/p/{path}", reads=True) for path in ("README.md", "secret/a.txt")
    )
    ok, other = (
        Assessment(Effect.READ, path, inside=False, key=path, reads=True) for path in ("/tmp/ok.txt", "/tmp/other.txt")
    )
    bus = Bus()
    for text, parts, allowed in (
        (deny, (free, denied), False),
        (deny, (free, free), True),
        (allow, (ok, other), False),
        (allow, (other, ok), False),
        (allow, (ok, ok), True),
        (allow, (free, ok), True),
    ):
        book = replace(parse_rules(Path("/p/rules.toml"), text), project=Path("/p"))
        assert book.rules and not book.mistakes
        gate = Gate(bus, respondent="nobody", auto_approve=frozenset({"read"}), rules=lambda book=book: book)
        inside = all(part.inside for part in parts)
        whole = Assessment(
            Effect.READ, "files", inside=inside, reads=True, key="\0".join(p.key for p in parts), every=parts
        )
        verdict = await gate.review(Call("main", "s", "c", "cat", {}), whole)
        await gate.close()
        assert verdict.allowed is allowed, (text, [part.subject for part in parts])


async def test_a_rule_that_allows_files_allows_no_other_tool() -> None:
    """Neither one that has no path, nor one that says of itself what looks like a path."""
    bus, project = Bus(), Path("/p")
    calls = (
        ("write", Assessment(Effect.WRITE, "docs/a.md", key="/p/docs/a.md"), True),
        ("python", Assessment(Effect.EXECUTE, "docs/a.md", inside=False, key="x"), False),
        ("git_commit", Assessment(Effect.WRITE, "docs/a.md", inside=False, line="git commit -m docs/a.md"), False),
        ("say", Assessment(Effect.WRITE, "docs/a.md", inside=False), False),
        ("git_worktree", Assessment(Effect.WRITE, "docs/a.md", inside=False), False),
    )
    for pattern in ("**", "*", "docs/*", "?*", "."):
        text = f'[[rule]]\ndo = "allow"\npaths = "{pattern}"\n'
        book = replace(parse_rules(Path("/p/rules.toml"), text), project=project)
        gate = Gate(bus, respondent="nobody", auto_approve=frozenset(), rules=lambda book=book: book)
        for tool, assessment, allowed in calls:
            verdict = await gate.review(Call("main", "s", "c", tool, {"code": "1"}), assessment)
            assert verdict.allowed is (allowed and pattern != "."), (pattern, tool)
        await gate.close()
    await bus.close(timeout=2)
