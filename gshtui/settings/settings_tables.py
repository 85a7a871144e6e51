"""The tables of the configuration file, one class each: every key with its type, default, unit and meaning."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field

from gshtui.settings import paths
from gshtui.settings.setting_values import (
    ASKED,
    FALSE,
    FEWER,
    LOWER,
    LOWER_BUT_ZERO,
    STRICTER,
    TRUE,
    AccountValue,
    Address,
    Amount,
    Count,
    Folder,
    HostWords,
    PlainWord,
    Positive,
    ProviderType,
    SettingsTable,
    VariableName,
    Variables,
    apprise_address,
    quiet_hours,
    setting,
    ssh_option,
    variables,
    webhook_address,
)


class General(SettingsTable):
    """Your name, and where files and sockets are kept."""

    name: str = setting("", "Display name in calls. Default: your login name.")
    log_dir: Folder = setting(lambda: paths.logs_dir(create=False), "Folder of the redacted logs (*.jsonl).")
    session_dir: Folder = setting(lambda: paths.data_dir(create=False), "Folder of the record, gsh.db.")
    socket_path: Folder = setting(
        lambda: paths.runtime_dir(create=False) / "gsh.sock",
        "Unix socket that shells report to. Its folder must be yours alone.",
    )


class ProviderSettings(SettingsTable):
    """One provider of models. The table's name is yours to choose when `type` says what it is."""

    type: ProviderType = setting("", "Which API it uses; empty: the table's name says it.")
    api_key_env: VariableName = setting("", "Environment variable that holds the API key. Never the key itself.")
    keyring: str = setting(
        "",
        "Service in the system's keyring that holds the key, under the variable's name, where the variable"
        " is not set. Needs the package `keyring`.",
    )
    base_url: Address = setting("", "Address of the API; empty: the provider's own, or its SDK's variable.")
    default_model: str = setting("", "Model to use if none is named; empty: the catalog's first choice.")
    max_tokens: Count = setting(0, "Maximum tokens of an answer; 0: the model's own maximum.")
    region: PlainWord = setting("", "Region of Bedrock or Vertex; empty: AWS_REGION, or CLOUD_ML_REGION, or global.")
    profile: PlainWord = setting("", "AWS profile for Bedrock; empty: AWS_PROFILE, or the default.")
    project: PlainWord = setting(
        "", "Google Cloud project for Vertex; empty: GOOGLE_CLOUD_PROJECT, or that of the login."
    )
    api_version: PlainWord = setting(
        "", "Version of Azure's API; empty: OPENAI_API_VERSION, or the one that has no versions."
    )


class AccountSettings(SettingsTable):
    """The variables of agents that work under one account of yours: a subscription, a customer, a key."""

    env: Annotated[dict[str, str | AccountValue], AfterValidator(variables)] = setting(
        {}, "Variables by name: plain text, or for a secret { env = … }, { command = … } or { keyring = … }."
    )


class GroupSettings(SettingsTable):
    """What the agents of one group have in common."""

    account: str = setting("", "Their account, unless one is named; empty: none.")
    env: Variables = setting({}, "Further variables by name, never secrets.")


class NamedAgentSettings(SettingsTable):
    """One of your agents, which starts in a terminal when you first invite it or speak to it by its name."""

    provider: str = setting("", "Its provider, by the name of its table; empty: as usual.")
    model: str = setting("", "Its model, or an alias such as `sonnet`; empty: the provider's.")
    persona: str = setting("", "Its persona, whose memory it has, too; empty: none.")
    mode: Literal["", "plan", "ask", "edit", "auto"] = setting(
        "", "What it does unasked, at most; empty: as agents begin here."
    )
    allowed_paths: list[str] = setting(
        [],
        "The only files and folders that its tools reach: paths of the project such as `src`, `docs/*.md`,"
        " and virtual ones such as /calls. It then gets no tool that could reach others. Empty: no such limit.",
    )
    sessions: Literal["", "on", "off"] = setting(
        "", "Whether its conversations are kept; empty: as `[sessions] enabled` says."
    )


class AgentSettings(SettingsTable):
    """How agents work."""

    default_provider: str = setting("anthropic", "Preferred provider among those available.")
    max_steps: Positive = setting(50, "Maximum tool calls per turn.", LOWER)
    auto_approve: list[str] = setting(
        ["read", "glob", "grep"], "Tools that run without approval, inside the project.", FEWER
    )
    always_tools: list[str] = setting(
        [],
        "Tools to describe to a model in every request besides the usual ones, by name; * for all. Others"
        " are found by it when it needs them.",
    )
    checkpoints: bool = setting(
        True,
        "Keep the project's files as they are before each turn, so that `rewind` can restore them; in"
        " `checkpoints/` beside the record, for 30 days.",
    )
    small_model: str = setting(
        "",
        "Model for short texts beside the conversations: titles, summaries (of compactions, conversations"
        " and calls), long output that you want short. As for `model`, such as `haiku` or `provider/model`; empty: the"
        " agents' own, and a title is the first prompt's first line.",
    )
    mode: Literal["plan", "ask", "edit", "auto"] = setting(
        "ask", "What agents do unasked: plan and ask (read), edit (edit files), auto (run in the sandbox).", STRICTER
    )


class ProgramsSettings(SettingsTable):
    """Other vendors' programs as agents."""

    screen_only: list[str] = setting(
        [],
        "Programs, by the names of their profiles, that are read and driven by their screens alone although"
        " they have a protocol of their own for that (codex, opencode); * for all.",
    )
    rule_keys: list[str] = setting(
        [], "Public keys, as minisign writes them, of those whose rules `profiles update` takes."
    )
    acp_registry: Address = setting(
        "https://cdn.agentclientprotocol.com/registry/v1/latest/registry.json",
        "Registry of agents that `agent search` and `agent install` ask.",
    )


class Sandbox(SettingsTable):
    """What a command that an agent runs may reach."""

    enabled: bool = setting(
        True, "Run agents' commands in a sandbox (bubblewrap) where nobody is asked about them.", TRUE
    )
    allow_network: bool = setting(False, "Let sandboxed commands reach the network.", FALSE)
    hosts: list[HostWords] = setting(
        [],
        "Hosts that sandboxed commands may reach by HTTP and HTTPS where the network is not allowed:"
        " pypi.org, *.github.com, registry.example:8443, 10.0.0.0/8.",
        FEWER,
    )
    writable_paths: list[str] = setting(
        [".", "./build", "./dist", "./target"],
        "Folders that sandboxed commands may write to; relative ones start from the project, which without"
        " `.` is read-only but for those below it.",
        FEWER,
    )
    environment: list[str] = setting(
        [],
        "Variables that agents' commands get besides the usual ones of systems and toolchains: NAME, or"
        " NAME_* for those that are no secrets.",
        FEWER,
    )
    visible: list[str] = setting(
        [],
        "Files of projects that sandboxed commands may read although their names are those of keys or"
        " passwords: .env.test, tests/certs/*.",
        FEWER,
    )
    max_processes: Annotated[int, Field(ge=8, le=1_000_000)] = setting(1024, "Maximum processes of one command.", LOWER)
    max_memory_mb: Annotated[int, Field(ge=64, le=1_000_000_000)] = setting(
        8192, "Maximum memory of one command, in megabytes, its temporary files included.", LOWER
    )
    max_file_mb: Annotated[int, Field(ge=1, le=1_000_000_000)] = setting(
        4096, "Largest file that a command may write, in megabytes.", LOWER
    )


class Tmux(SettingsTable):
    """Agents' terminals."""

    session_prefix: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]{0,31}$")] = setting(
        "gsh", "Prefix of our tmux session names: a-z, 0-9 and -."
    )
    socket_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,39}$")] = setting(
        "gsh", "Name of the tmux server for agents, as in `tmux -L`; `default` is your own."
    )
    default_shell: Folder = setting(Path("/bin/zsh"), "Shell for new tmux sessions.")


class Worktrees(SettingsTable):
    """Git worktrees that agents work in."""

    place: Literal["beside", "inside"] = setting(
        "beside", "Where to create worktrees: beside the repository, or in its .gsh/worktrees."
    )
    setup: list[str] = setting(
        [], "Command to run in a new worktree, as a list of arguments. You are asked about it first.", ASKED
    )
    teardown: list[str] = setting(
        [], "Command to run in a worktree before it is finished and removed. You are asked about it first.", ASKED
    )


class Features(SettingsTable):
    """Our features that can be switched off, by name (`contract.py`)."""

    acp: bool = setting(True, "An agent for editors (ACP).", FALSE)
    code: bool = setting(True, "What is known of code: language servers.", FALSE)
    mcp_server: bool = setting(True, "Our commands for other programs (MCP).", FALSE)
    replay: bool = setting(True, "Replay: conversations played again.", FALSE)
    ssh: bool = setting(True, "The door for people over SSH.", FALSE)
    web: bool = setting(True, "The window in a browser.", FALSE)
    workflows: bool = setting(True, "Workflows: steps around a model.", FALSE)


class Python(SettingsTable):
    """The persistent Python runtime of agents."""

    enabled: bool = setting(True, "Offer the Python runtime to agents.", FALSE)
    venv_path: Folder = setting(
        lambda: paths.data_dir(create=False) / "python-venv", "Folder of its virtual environment."
    )
    pre_install: list[str] = setting(
        ["requests", "beautifulsoup4", "pandas", "pyyaml"], "Packages that `python install` puts into it."
    )
    interpreter: str = setting(
        "", "Python to run, by path or name; empty: that of venv_path if it is there, else gsh-tui's own."
    )
    timeout: Annotated[float, Field(ge=1, le=3_600)] = setting(
        120.0, "Seconds that a block may take if its call does not say.", LOWER
    )
    blocks: bool = setting(
        True, "Run <python>…</python> blocks in the answers of models, not only calls of the tool.", FALSE
    )


class CodeSettings(SettingsTable):
    """What language servers say of the code that agents change; they start when they are needed."""

    enabled: bool = setting(True, "Use the language servers that are installed, in trusted folders.", FALSE)
    wait_seconds: Annotated[float, Field(ge=0, le=30)] = setting(
        2.0, "Seconds that an edit may wait for what they say of it.", LOWER
    )
    start_seconds: Annotated[float, Field(ge=1, le=300)] = setting(
        30.0, "Timeout in seconds for starting and for each request.", LOWER
    )
    memory_mb: Annotated[int, Field(ge=64, le=1_000_000)] = setting(
        3_000, "Memory limit per interpreter in MB; above it the process is killed.", LOWER
    )
    idle_minutes: Annotated[float, Field(gt=0, le=1_440)] = setting(
        15.0, "Minutes without use after which one is ended.", LOWER
    )


class Context(SettingsTable):
    """What is sent to a model, and how it is cut to fit."""

    redact_secrets: bool = setting(
        True,
        "Take keys and tokens out of what tools return before it is stored and sent to a model."
        " What you type is sent as you type it.",
        TRUE,
    )
    max_events: Count = setting(100, "Maximum shell events (commands, notes, changes) told to an agent.", LOWER)
    max_tokens: Positive = setting(8000, "Maximum tokens of shell events told to an agent.", LOWER)
    include_stdout: bool = setting(True, "Include the commands' output.", FALSE)
    stdout_max_lines: Count = setting(
        50,
        "Lines kept of what a command in your shells printed; agents see those of failed commands. Of a "
        "command that you run with `!`, all is kept, and agents are told these.",
        LOWER,
    )
    max_tool_output_bytes: Count = setting(
        30_000, "Maximum bytes of a tool's output; longer output is cut in the middle. 0: no cut.", LOWER_BUT_ZERO
    )
    prune_protect_tokens: Count = setting(40_000, "Tokens of recent tool output that pruning never touches.")
    compact_threshold: Annotated[float, Field(ge=0.1, le=1.0)] = setting(
        0.85, "Compact when the context is this full, as a fraction of the model's window."
    )
    history: Annotated[str, Field(pattern=r"^(summari[sz]e|(last|budget) [1-9][0-9]{0,8})$")] = setting(
        "summarise", "How a long history is cut: summarise, `last N` (messages that stay) or `budget N` (tokens of it)."
    )
    reserved_system: Count = setting(
        0, "Tokens kept for system, call, memory and tools: history is cut as if they took this many."
    )
    reserved_response: Count = setting(
        0, "Tokens kept for the answer; 0: an eighth of the model's window, 8,192 at most."
    )
    review_summaries: bool = setting(False, "Show each summary for review before it counts, while a window is open.")
    review_seconds: Annotated[float, Field(ge=1, le=86_400)] = setting(
        120.0, "Seconds after which a summary waiting for review counts as accepted."
    )
    summary_seconds: Annotated[float, Field(ge=1, le=3_600)] = setting(180.0, "Seconds a model may take for a summary.")
    max_iterations: Positive = setting(25, "Maximum model requests in one turn.", LOWER)
    ambient_commands: Count = setting(5, "Recent shell commands that agents always see; 0: none.", LOWER)
    memory_tokens: Count = setting(
        1_500,
        "Maximum tokens of an agent's memory in each request; less relevant notes are found by search. 0: none.",
        LOWER,
    )
    max_history_lines: Count = setting(
        10_000, "Commands and notes kept in the shell log; 0: all. The oldest are removed."
    )


class Shell(SettingsTable):
    """What is recorded of your shells."""

    ignore: list[str] = setting([], "Commands never to record: patterns with * ? and [...] that match the whole line.")
    watch_files: bool = setting(
        True, "Show changes to the project's files in the shell log, except those git ignores.", FALSE
    )
    notices: bool = setting(
        True, "Announce before a prompt that an agent started there by gsh --background has ended.", FALSE
    )
    context_lines: Count = setting(
        0, "Lines of what recent commands printed that `gsh` and ctrl+g tell; 0: the end of failures.", LOWER
    )
    suggestions: bool = setting(
        True, "In zsh, suggest earlier commands as you type, those of this folder first.", FALSE
    )


class Budgets(SettingsTable):
    """How much agents may use before they pause and ask. 0: no limit."""

    agent_tokens: Amount = setting(0, "Maximum tokens of one agent's conversation.", LOWER_BUT_ZERO)
    agent_dollars: Amount = setting(0, "Maximum US dollars of one agent's conversation.", LOWER_BUT_ZERO)
    agent_minutes: Amount = setting(0, "Maximum minutes of work of one agent's conversation.", LOWER_BUT_ZERO)
    tree_tokens: Amount = setting(0, "Maximum tokens of a conversation and all agents started from it.", LOWER_BUT_ZERO)
    tree_dollars: Amount = setting(0, "The same, in US dollars.", LOWER_BUT_ZERO)
    tree_minutes: Amount = setting(0, "The same, in minutes of work.", LOWER_BUT_ZERO)
    day_tokens: Amount = setting(0, "Maximum tokens of all agents in a day.", LOWER_BUT_ZERO)
    day_dollars: Amount = setting(0, "Maximum US dollars of all agents in a day.", LOWER_BUT_ZERO)
    day_minutes: Amount = setting(0, "Maximum minutes of work of all agents in a day.", LOWER_BUT_ZERO)
    warn_at: Annotated[float, Field(gt=0, le=1)] = setting(0.8, "Warn at this fraction of a budget.")


class Ui(SettingsTable):
    """The workbench's looks and manners."""

    theme: str = setting("gsh-dark", "Theme: gsh-dark, gsh-light, one of Textual's, or one of your own.")
    first_questions: bool = setting(True, "At the very first start without a model, offer to connect one.")
    notifications: list[Literal["badge", "bell", "desktop"]] = setting(
        ["badge", "bell"], "How to announce work that ends while you look elsewhere; empty: not at all."
    )
    keys: Literal["emacs", "vi"] = setting(
        "emacs", "Keys of the input: emacs, as at a shell's prompt, or vi, where escape leads to normal mode."
    )
    fps: Annotated[int, Field(ge=5, le=120)] = setting(30, "Maximum redraws of a pane per second.")
    result_lines: Annotated[int, Field(ge=0, le=50)] = setting(
        5,
        "Lines of output shown under a finished call in the conversation; a change gets six times as many. "
        "0: none. Errors are always shown.",
    )
    status_line: str = setting(
        "",
        "Command whose first line of output is shown below the keys. It reads the window's state as JSON,"
        " and runs in the sandbox.",
    )
    outside: list[Literal["title", "tmux"]] = setting(
        [], "Where else the state is told: the terminal's title, options of the tmux pane (@gsh_status …)."
    )
    reduce_motion: bool = setting(False, "Nothing moves by itself: no spinner, no sliding.")
    screen_reader: bool = setting(
        False, "Lines in place of a window, for screen readers: no frames, nothing moves. As `--screen-reader`."
    )
    diff_columns: Literal["auto", "one"] = setting(
        "auto", "Changes: auto puts old and new side by side where there is room, one always below one another."
    )


class HubSettings(SettingsTable):
    """What goes on while no window is open."""

    keep: Literal["auto", "never", "alone"] = setting(
        "auto",
        "auto: one hub in the background serves windows and commands, and looks after agents, shells and mail."
        " never: the same one ends with the last window, command or pane of our own agents that it serves."
        " alone: none is started, a window is the hub itself, as with --alone, and a command or a turn is done in its"
        " own process, as tests and debuggers want it.",
    )
    closing: Literal["finish", "stop"] = setting(
        "finish",
        "A turn in progress when its window is closed: finish: it goes on in the background, and gsh-tui in"
        " its folder shows it again. stop: it is interrupted.",
    )
    memory: int = Field(
        default=1024,
        ge=0,
        le=1_048_576,
        description="MB in memory from which on the hub begins anew while no turn goes on; 0: never.",
    )


class Notify(SettingsTable):
    """How you are told of your agents while you look elsewhere, besides `ui.notifications`."""

    command: list[str] = setting(
        [],
        "A program with its arguments that is run for each notification: it finds the text in $GSH_TEXT and"
        " the agent in $GSH_AGENT.",
    )
    webhook: Annotated[str, AfterValidator(webhook_address)] = setting(
        "", 'An https address that each notification is sent to as JSON: {"text": …, "agent": …, "at": …}.'
    )
    apprise: list[Annotated[str, AfterValidator(apprise_address)]] = setting(
        [],
        "Where else notifications go, by the package apprise: its addresses of phones and chats, such as"
        " ntfy://my-topic.",
    )
    quiet: Annotated[str, AfterValidator(quiet_hours)] = setting(
        "", "Hours in which nothing calls you, such as 22:00-07:30."
    )
    muted: list[str] = setting([], "Agents that never call you, by name; explore-* has a pattern.")


class SshSettings(SettingsTable):
    """Where `gsh-tui serve --ssh` listens for the people whom you let in (`gsh-tui people`)."""

    host: str = setting("127.0.0.1", "Address to listen on; by default only this machine.")
    port: int = Field(default=8022, ge=0, le=65_535, description="Port to listen on; 0: any free one.")


class HostSettings(SettingsTable):
    """Another machine, which you reach by `ssh` without a password; agents run there in tmux."""

    destination: PlainWord = setting(
        "", "What you write behind `ssh`: a host, or a name of ssh_config; empty: its name here."
    )
    user: PlainWord = setting("", "User there. Default: ssh's own choice.")
    port: int = Field(default=0, ge=0, le=65_535, description="Port there. 0: ssh's own choice.")
    identity: Folder | None = setting(None, "Private key file. Default: ssh's own choice.")
    ssh_config: Folder | None = setting(None, "Configuration file of ssh, in place of your own.")
    ssh_options: list[Annotated[str, AfterValidator(ssh_option)]] = setting(
        [], "More options for ssh, as in ssh_config: `Name=value` each."
    )
    tmux: PlainWord = setting("tmux", "The tmux program there: a name, or its full path.")
    socket_name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_][A-Za-z0-9._-]{0,39}$")] = setting(
        "gsh-ssh", "Name of the tmux server for agents there, as in `tmux -L`."
    )
    cwd: str = setting("", "Folder there in which agents start; empty: the home folder.")
    path: list[str] = setting([], "Folders there to look for programs in, before the usual ones.")
    connect_seconds: int = Field(default=8, ge=1, le=120, description="Seconds that connecting may take.")
    python: PlainWord = setting(
        "", "The Python there for our own agents' tools: a name, or its full path; empty: the first that fits."
    )
    trusted: list[str] = setting(
        [], "Full paths of folders there whose AGENTS.md our own agents follow, with all that is below them."
    )
    rules: Literal["ask", "read", "deny"] = setting(
        "ask",
        "What agents may do there with the `ssh` tool. ask: they ask before every call; read: they read "
        "files without asking; deny: nothing.",
    )


class SessionSettings(SettingsTable):
    """Conversations once they are over."""

    enabled: bool = setting(
        True,
        "Keep the conversations of the window and of `gsh-tui prompt`. false: each is deleted when it is"
        " closed; agents in terminals keep theirs.",
    )


class StoreSettings(SettingsTable):
    """The record on disk."""

    synchronous: Literal["normal", "full"] = setting(
        "normal", "normal: acknowledged data survives a program crash; full: also a power cut, but slower."
    )
