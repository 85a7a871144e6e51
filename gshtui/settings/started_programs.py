"""The tables of programs that are started for agents: MCP servers, hooks and language servers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from gshtui.settings.setting_values import Address, HostWords, NamedTexts, SettingsTable, setting


class McpServer(SettingsTable):
    """One MCP server: a command to start, or an address. `${NAME}` in its values stands for a variable."""

    command: str = setting("", "Program to start; it speaks MCP over its standard input and output.")
    args: list[str] = setting([], "The program's arguments.")
    env: NamedTexts = setting({}, 'Variables for the program; for a secret, "${NAME}" takes it from yours.')
    cwd: str = setting("", "Folder where the program starts; empty: the project.")
    url: Address = setting("", "Address of a server that speaks MCP over HTTP.")
    headers: NamedTexts = setting({}, 'HTTP headers; for a secret, "Bearer ${NAME}".')
    enabled: bool = setting(True, "Whether agents get its tools.")
    sandbox: bool = setting(True, "Run the program in the sandbox, where that holds.")
    hosts: list[HostWords] = setting(
        [], "Hosts that it may reach from the sandbox, besides the registry of uvx or npx."
    )
    writable: list[str] = setting(
        [],
        "Folders that it may write to in the sandbox, besides one of its own; relative ones start from the"
        " project, and `.` is the project.",
    )
    timeout: Annotated[float, Field(ge=1, le=3_600)] = setting(
        60.0, "Seconds without news after which a call of a tool is given up."
    )


class McpSettings(SettingsTable):
    """MCP servers, whose tools agents get."""

    servers: dict[str, McpServer] = setting({}, "The servers, by name: [mcp.servers.NAME].")
    start_seconds: Annotated[float, Field(ge=1, le=300)] = setting(
        30.0, "Seconds that a server may take to start; one that npx, uvx, uv or bunx may fetch first has 120."
    )
    registry: Address = setting(
        "https://registry.modelcontextprotocol.io",
        "Registry that `mcp search` asks, and `mcp add` for a server by its name there.",
    )


class HookEntry(SettingsTable):
    """One hook: a command that reads JSON on its standard input, or an address of this machine."""

    matcher: str = setting("", "Expression over the whole name of a tool or trigger; empty: all.")
    command: str = setting("", "Line for bash; it reads the event as JSON and may print JSON.")
    url: str = setting("", "Instead of a command: http address of this machine, which gets a POST.")
    timeout: Annotated[float, Field(gt=0, le=600)] = setting(60.0, "Seconds until it is ended.")
    sandbox: bool = setting(True, "Run the command in the sandbox, where that holds.")


class Hooks(SettingsTable):
    """Your programs that are asked or told when agents do something: [[hooks.PreToolUse]] and so on."""

    PreToolUse: list[HookEntry] = setting([], "Before a tool runs; can deny it or change its input.")
    PostToolUse: list[HookEntry] = setting([], "After a tool ran; can tell the agent something.")
    UserPromptSubmit: list[HookEntry] = setting([], "Before a prompt; can stop it or add to it.")
    Stop: list[HookEntry] = setting([], "After a turn; can have the agent go on.")
    SubagentStop: list[HookEntry] = setting([], "After an agent in a terminal has ended.")
    PreCompact: list[HookEntry] = setting([], "Before a conversation is compacted; can prevent it.")
    PostCompact: list[HookEntry] = setting([], "After a cut of what a model is sent.")
    SessionStart: list[HookEntry] = setting([], "When a conversation is opened; can add to it.")
    SessionEnd: list[HookEntry] = setting([], "When a conversation is closed.")
    Notification: list[HookEntry] = setting([], "When an agent waits for you.")


class LanguageServerSettings(SettingsTable):
    """One language server; of a known one only what differs."""

    enabled: bool = setting(True, "Use it where it is installed.")
    command: list[str] = setting([], "Program and arguments; empty: as is known of it.")
    files: list[str] = setting([], 'Patterns of names of its files, such as "*.py"; empty: as known.')
    roots: list[str] = setting([], "Names of files that mark the folder that it is for; empty: as is known of it.")
    sandbox: bool = setting(True, "Run it in the sandbox.")
    memory_mb: Annotated[int, Field(ge=0, le=1_000_000)] = setting(0, "Memory limit in MB. 0: that of code.memory_mb.")
