"""The settings: all tables together, as pydantic-settings builds them from layers, and their JSON schema."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

from pydantic import Field
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from gshtui.settings.setting_values import AgentName, Folder, HostName, SharedName
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

    general: General = Field(default_factory=General, description="Where files and sockets are kept.")
    providers: dict[str, ProviderSettings] = Field(default_factory=_providers, description="Model providers, by name.")
    accounts: dict[str, AccountSettings] = Field(default={}, description="Accounts that agents work under, by name.")
    groups: dict[str, GroupSettings] = Field(default={}, description="Groups of agents, by name.")
    agent: AgentSettings = Field(default_factory=AgentSettings, description="How agents work.")
    agents: dict[AgentName, NamedAgentSettings] = Field(
        default_factory=_agents, description="Your agents, by the names under which they are in calls."
    )
    programs: ProgramsSettings = Field(
        default_factory=ProgramsSettings, description="Other vendors' programs as agents."
    )
    sandbox: Sandbox = Field(default_factory=Sandbox, description="What agents' commands may reach.")
    tmux: Tmux = Field(default_factory=Tmux, description="Agents' terminals.")
    worktrees: Worktrees = Field(default_factory=Worktrees, description="Git worktrees that agents work in.")
    features: Features = Field(default_factory=Features, description="Features that can be switched off.")
    python: Python = Field(default_factory=Python, description="The agents' Python runtime.")
    code: CodeSettings = Field(default_factory=CodeSettings, description="What language servers say of changed code.")
    language_servers: dict[str, LanguageServerSettings] = Field(default={}, description="Language servers, by name.")
    mcp: McpSettings = Field(default_factory=McpSettings, description="MCP servers, whose tools agents get.")
    hooks: Hooks = Field(default_factory=Hooks, description="Your programs that agents' doings are put before.")
    keybindings: dict[str, str] = Field(
        default_factory=lambda: dict(DEFAULT_KEYS),
        description="Keys by id: invoke_llm … of the shell, as zsh writes them; app.palette … of the workbench.",
    )
    shared: dict[SharedName, Folder] = Field(
        default={}, description="Folders below /shared, by name, besides /shared/project."
    )
    context: Context = Field(default_factory=Context, description="What is sent to a model, and how it is cut.")
    shell: Shell = Field(default_factory=Shell, description="What is recorded of your shells.")
    budget: Budgets = Field(default_factory=Budgets, description="How much agents may use before they pause and ask.")
    ui: Ui = Field(default_factory=Ui, description="How the workbench looks and behaves.")
    notify: Notify = Field(default_factory=Notify, description="How you are told when you look elsewhere.")
    ssh: SshSettings = Field(default_factory=SshSettings, description="People who come in over SSH.")
    hosts: dict[HostName, HostSettings] = Field(default={}, description="Other machines that agents run on, by name.")
    hub: HubSettings = Field(default_factory=HubSettings, description="What goes on while no window is open.")
    sessions: SessionSettings = Field(default_factory=SessionSettings, description="Conversations once they are over.")
    store: StoreSettings = Field(default_factory=StoreSettings, description="The record on disk.")

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
