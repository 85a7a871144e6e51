"""The composition root: makes a hub with the one list of its parts, in the order in which they start.

Each part imports what it needs when it starts: a command that uses one part loads nothing of the others.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING

from gshtui.bus.bus import Bus
from gshtui.bus.events.hub_events import Noticed
from gshtui.hub import hub_sources
from gshtui.hub.hub import Hub, StartPart
from gshtui.hub.hub_options import HubOptions
from gshtui.hub.part_lifecycle import MissingPart

if TYPE_CHECKING:
    from gshtui.mcp_client.server_pool import ServerPool


def build_hub(options: HubOptions, bus: Bus | None = None, host: Hub | None = None) -> Hub:
    """A hub that starts the parts named in the options. `bus`: an existing one that outlives the hub; by default the
    hub has its own. `host`: the hub of this process, whose record it works on; by default it opens the record itself.
    """
    hub = Hub(options, PARTS, bus, host)
    hub.make_mcp_servers = lambda: _make_mcp_servers(hub)
    hub.offers.things.add_from(hub_sources)
    return hub


def _make_mcp_servers(hub: Hub) -> ServerPool:
    from gshtui.hub.parts.mcp_part import make_servers

    return make_servers(hub)


async def start_store(hub: Hub) -> None:
    """Open the record and the log, and start recording events. Raises `StoreError`."""
    from gshtui.agents.telemetry import Journal, Telemetry
    from gshtui.agents.trace_export import TraceExport, is_wanted
    from gshtui.hub.parts.prompt_part import provide_prompts
    from gshtui.hub.virtual_files import mount_record
    from gshtui.store.record.store import Store

    telemetry = hub.telemetry = Telemetry(hub.bus, hub.settings, hub.environ, hub.carries)
    hub.parts.stops_with("log", telemetry.close)
    if is_wanted(hub.environ):
        traces = TraceExport(hub.bus, hub.environ, telemetry.redactor.redact, hub.carries)
        hub.parts.stops_with("traces", traces.close)
    if not hub.owns_bus:
        hub.parts.stops_with("events", hub.bus.drained)
    if hub.host is not None and hub.host.store is not None:
        hub.store = hub.host.store
    else:
        hub.store = await Store.open(
            (hub.options.record or hub.settings.general.session_dir) / "gsh.db",
            synchronous=hub.settings.store.synchronous,
            on_notice=lambda text, hint: hub.bus.publish(
                Noticed(level="warning", text=text, hint=hint, about=hub.options.about or "store")
            ),
        )
    hub.offers.things.have(hub.store, telemetry)
    if not hub.options.looks:
        hub.journal = Journal(hub.bus, hub.store)
    telemetry.keep_usage(hub.store)
    mount_record(hub, hub.store)
    provide_prompts(hub)
    hub.offers.offer("store")


async def start_guard(hub: Hub) -> None:
    """Start the guard, which judges tool calls and asks about them."""
    from gshtui.guard.approval.gate import Gate
    from gshtui.guard.approval.open_approvals import ApprovalWatch
    from gshtui.guard.modes import AgentModes
    from gshtui.guard.rules.rule_book import RuleFiles
    from gshtui.guard.rules.rule_file import add_rule, own_file

    automatic = frozenset(hub.settings.agent.auto_approve)
    if hub.options.auto_approve is not None:
        automatic &= frozenset(hub.options.auto_approve)
    mode = "auto" if hub.options.respondent == "policy" else hub.options.mode or hub.settings.agent.mode
    modes = AgentModes(hub.bus, hub.options.agent, mode)
    files = RuleFiles(own_file(), hub.project)
    for mistake in (await asyncio.to_thread(files.current)).mistakes:
        hub.bus.publish(Noticed(level="warning", text=str(mistake), about=hub.options.about or "guard"))
    await _notice_old_approvals(hub)
    there = None if hub.options.native is None else hub.options.native.tools_there
    hub.gate = Gate(
        hub.bus,
        respondent=hub.options.respondent,
        auto_approve=automatic,
        modes=modes,
        rules=files.current if there is None else lambda: there.rules(files.current()),
        save=lambda text: add_rule(own_file(), text),
    )
    hub.parts.ceases_with(hub.gate.cease)
    hub.parts.stops_with("guard", hub.gate.close)
    hub.approvals = ApprovalWatch(hub.bus)
    hub.parts.stops_with("guard", hub.approvals.close)
    from gshtui.hub.parts.mode_part import offer_modes, prove_auto

    offer_modes(hub, hub.gate)
    if mode == "auto" and hub.options.respondent != "policy" and there is None:
        await prove_auto(hub, hub.gate)


async def _notice_old_approvals(hub: Hub) -> None:
    """Say that what was always allowed before there were rules counts no more, and where it becomes one."""
    if hub.store is None or hub.options.respondent != "person" or hub.options.visiting:
        return
    if old := await hub.store.grants.find_all(str(hub.project)):
        what = "approval" if len(old) == 1 else f"{len(old)} approvals"
        text = f"Your {what} from before there were rules count{'s' * (len(old) == 1)} no more."
        hint = "`/approvals` lists them, and `/approvals keep NUMBER` makes a rule of one."
        hub.bus.publish(Noticed(level="info", text=text, hint=hint, about=hub.options.about or "guard"))


async def start_socket(hub: Hub) -> None:
    """Listen to agents in terminals. Raises `MissingPart`, `HubRegistryError`, `OSError`."""
    from gshtui.fleet.native.relay import RelayCircle, open_relay

    if hub.gate is None or hub.journal is None:
        needed = "guard" if hub.gate is None else "store"
        raise MissingPart(needed, "Agents in terminals need the record and the guard.")
    answers = hub.options.respondent == "person" and not hub.options.visiting
    host, where = hub.host or hub, (hub.options.cwd, hub.project)
    host.circle = host.circle or RelayCircle()
    hub.relay = await open_relay(hub.bus, hub.gate, hub.journal, *where, answers=answers, circle=host.circle)
    if hub.store is not None:
        from gshtui.fleet.native.unreached_prompts import UnreachedPrompts

        hub.relay.unreached = UnreachedPrompts(hub.store.mail)
        hub.parts.stops_with("socket", hub.relay.unreached.release)
    hub.parts.stops_with("socket", hub.relay.stop)


async def start_providers(hub: Hub) -> None:
    """Make the models available, and the requests to them readable."""
    from gshtui.agents.model_pool import ModelPool

    models = hub.models = ModelPool(hub.settings, hub.environ)
    hub.parts.stops_with("providers", models.close)
    for problem in models.catalog.problems:
        hub.bus.publish(Noticed(level="warning", text=problem, about="models"))
    hub.offers.things.have(models)
    hub.offers.offer("providers")
    if hub.store is None or hub.telemetry is None:
        return
    from gshtui.agents.context_assembly import make_contexts
    from gshtui.hub.parts.agent_preview import as_it_begins
    from gshtui.hub.virtual_files import mount_contexts

    hub.contexts = make_contexts(
        hub.bus,
        hub.store,
        hub.settings.context,
        models,
        hub.local_agent,
        str(hub.options.cwd),
        hub.telemetry.redactor.redact,
        hub.options.agent,
        lambda agent: as_it_begins(hub, build_hub, agent),
    )
    mount_contexts(hub, hub.store, hub.contexts)
    hub.offers.things.have(hub.contexts)
    hub.offers.offer("contexts")


async def _start_agents(hub: Hub) -> None:
    from gshtui.hub.parts.agents_part import start_agents

    await start_agents(hub)


async def _start_native(hub: Hub) -> None:
    from gshtui.hub.parts.native_part import start_native

    await start_native(hub)


async def _start_acp(hub: Hub) -> None:
    from gshtui.hub.parts.acp_part import start_acp

    await start_acp(hub)


async def _start_fleet(hub: Hub) -> None:
    from gshtui.hub.parts.fleet_part import start_fleet

    await start_fleet(hub)


async def _start_shell(hub: Hub) -> None:
    from gshtui.hub.parts.shell_part import start_shell

    await start_shell(hub)


PARTS: Mapping[str, StartPart] = {
    "store": start_store,
    "guard": start_guard,
    "socket": start_socket,
    "providers": start_providers,
    "agents": _start_agents,
    "native": _start_native,
    "acp": _start_acp,
    "fleet": _start_fleet,
    "shell": _start_shell,
}
"""In their order, by the names that `HubOptions.parts` gives."""
