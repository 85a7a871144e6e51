"""The settings: all tables together, as pydantic-settings builds them from layers, and their JSON schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from gshtui.settings.setting_values import AgentName, Folder, HostName, SharedName, setting
from gshtui.settings.settings_tables import (
    AccountSettings,
    AgentSettings,
    Budgets,
    CodeSettings,
    Context,
    Features,
    General,
    GroupSettings,
    HostSettings,
    HubSettings,
    NamedAgentSettings,
    Notify,
    ProgramsSettings,
    ProviderSettings,
    Python,
    Sandbox,
    SessionSettings,
    Shell,
    SshSettings,
    StoreSettings,
    Tmux,
    Ui,
    Worktrees,
)
from gshtui.settings.started_programs import Hooks, LanguageServerSettings, McpSettings

DEFAULT_PROVIDERS: dict[str, dict[str, object]] = {
    "anthropic": {"api_key_env": "ANTHROPIC_API_KEY"},
    "openai": {"api_key_env": "OPENAI_API_KEY"},
    "gemini": {"api_key_env": "GEMINI_API_KEY"},
    "local": {"type": "ollama", "default_model": "llama3.2"},
}
"""A table of the same name in a file changes only the keys it contains."""

DEFAULT_AGENTS: dict[str, dict[str, object]] = {
    "claude": {"provider": "anthropic"},
    "gemini": {"provider": "gemini"},
    "gpt": {"provider": "openai"},
    "local": {"provider": "local"},
}
"""A table of the same name in a file changes only the keys it contains."""

DEFAULT_KEYS = {"invoke_llm": "^G", "attach_agent": "^X^A", "list_agents": "^X^L", "cancel_agent": "^X^C"}


def _providers() -> dict[str, ProviderSettings]:
    return {name: ProviderSettings.model_validate(fields) for name, fields in DEFAULT_PROVIDERS.items()}


def _agents() -> dict[str, NamedAgentSettings]:
    return {name: NamedAgentSettings.model_validate(fields) for name, fields in DEFAULT_AGENTS.items()}


class Settings(BaseSettings):
    """Every setting of gsh-tui, by table."""

    def keeps_sessions(self, agent: str) -> bool:
        """Whether the conversations of an agent are kept once they are over."""
        own = self.agents[agent].sessions if agent in self.agents else ""
        return own == "on" if own else self.sessions.enabled

    model_config = SettingsConfigDict(
        env_prefix="GSH_",
        env_nested_delimiter="__",
        extra="forbid",
        frozen=True,
        validate_default=True,
        title="Settings of gsh-tui",
    )

    general: General = setting(General, "Where files and sockets are kept.")
    providers: dict[str, ProviderSettings] = setting(_providers, "Model providers, by name.")
    accounts: dict[str, AccountSettings] = setting({}, "Accounts that agents work under, by name.")
    groups: dict[str, GroupSettings] = setting({}, "Groups of agents, by name.")
    agent: AgentSettings = setting(AgentSettings, "How agents work.")
    agents: dict[AgentName, NamedAgentSettings] = setting(
        _agents, "Your agents, by the names under which they are in calls."
    )
    programs: ProgramsSettings = setting(ProgramsSettings, "Other vendors' programs as agents.")
    sandbox: Sandbox = setting(Sandbox, "What agents' commands may reach.")
    tmux: Tmux = setting(Tmux, "Agents' terminals.")
    worktrees: Worktrees = setting(Worktrees, "Git worktrees that agents work in.")
    features: Features = setting(Features, "Features that can be switched off.")
    python: Python = setting(Python, "The agents' Python runtime.")
    code: CodeSettings = setting(CodeSettings, "What language servers say of changed code.")
    language_servers: dict[str, LanguageServerSettings] = setting({}, "Language servers, by name.")
    mcp: McpSettings = setting(McpSettings, "MCP servers, whose tools agents get.")
    hooks: Hooks = setting(Hooks, "Your programs that agents' doings are put before.")
    keybindings: dict[str, str] = setting(
        lambda: dict(DEFAULT_KEYS),
        "Keys by id: invoke_llm … of the shell, as zsh writes them; app.palette … of the workbench.",
    )
    shared: dict[SharedName, Folder] = setting({}, "Folders below /shared, by name, besides /shared/project.")
    context: Context = setting(Context, "What is sent to a model, and how it is cut.")
    shell: Shell = setting(Shell, "What is recorded of your shells.")
    budget: Budgets = setting(Budgets, "How much agents may use before they pause and ask.")
    ui: Ui = setting(Ui, "How the workbench looks and behaves.")
    notify: Notify = setting(Notify, "How you are told when you look elsewhere.")
    ssh: SshSettings = setting(SshSettings, "People who come in over SSH.")
    hosts: dict[HostName, HostSettings] = setting({}, "Other machines that agents run on, by name.")
    hub: HubSettings = setting(HubSettings, "What goes on while no window is open.")
    sessions: SessionSettings = setting(SessionSettings, "Conversations once they are over.")
    store: StoreSettings = setting(StoreSettings, "The record on disk.")

    @classmethod
    def of_layers(cls, *sources: PydanticBaseSettingsSource) -> Settings:
        """Build the settings from these sources; earlier ones win."""
        build = cast(
            "Callable[..., Settings]", cls
        )  # the parameter is public, but missing from the type that pydantic generates
        return build(_build_sources=(sources, {}))

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Use only the given sources: the other layers are checked value by value beforehand."""
        return (init_settings,)


def schema() -> dict[str, Any]:
    """The JSON schema (draft 2020-12) of the configuration file."""
    made = Settings.model_json_schema()
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    for definition in cast("dict[str, dict[str, Any]]", made.get("$defs", {})).values():
        for prop in cast("dict[str, dict[str, Any]]", definition.get("properties", {})).values():
            prop.pop("zero_is_unlimited", None)
            if rule := prop.pop("project", None):
                prop["x-project-may"] = _MAY[str(rule)]
    return made


_MAY = {
    "lower": "lower it",
    "fewer": "take items out",
    "true": "switch it on",
    "false": "switch it off",
    "stricter": "choose an earlier value",
    "asked": "set it",
}
