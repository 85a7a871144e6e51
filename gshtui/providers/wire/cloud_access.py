"""How a cloud that serves others' models is reached: region, project and credentials, of settings and environment.

Owns the names of the variables, which are those of the vendors' SDKs. All is read from the environment that is given,
since a hub answers for people whose environment is not its own; what the clouds keep in files (`~/.aws`,
`~/.config/gcloud`) is found by their own libraries. Connects to nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from gshtui.providers.port import ProviderError

if TYPE_CHECKING:
    from gshtui.settings.settings_tables import ProviderSettings

CLOUDS = ("azure", "bedrock", "vertex")
_CHOSEN_BY = {
    "bedrock": ("CLAUDE_CODE_USE_BEDROCK",),
    "vertex": ("CLAUDE_CODE_USE_VERTEX", "GOOGLE_GENAI_USE_VERTEXAI", "ANTHROPIC_VERTEX_PROJECT_ID"),
}
"""Variables by which people have told other programs to use this cloud."""
_ANY_REGION = "global"
_OFF = ("", "0", "false", "no", "off")


@dataclass(frozen=True, slots=True)
class CloudAccess:
    """Where in a cloud, and as whom. Empty: the vendor's library finds it."""

    region: str = ""
    project: str = ""
    api_version: str = ""
    profile: str = ""
    access_key: str = field(default="", repr=False)
    secret_key: str = field(default="", repr=False)
    session_token: str = field(default="", repr=False)
    token: str = field(default="", repr=False)
    """Of Microsoft Entra."""
    credentials_file: str = ""
    chosen_by: str = ""
    """The variable, or the table, that says to use it."""


def cloud_access(api: str, environ: Mapping[str, str], name: str, table: ProviderSettings | None) -> CloudAccess:

    def first(own: str, *variables: str) -> str:
        found = (environ.get(variable, "").strip() for variable in variables)
        return own or next((value for value in found if value), "")

    chosen = next((v for v in _CHOSEN_BY.get(api, ()) if environ.get(v, "").strip().lower() not in _OFF), "")
    chosen = chosen or (f"[providers.{name}]" if table is not None else "")
    region, project, version, profile = (
        ("", "", "", "") if table is None else (table.region, table.project, table.api_version, table.profile)
    )
    match api:
        case "bedrock":
            keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN")
            # A profile of the settings is meant instead of the keys that happen to be there.
            access, secret, session = (environ.get(key, "").strip() if not profile else "" for key in keys)
            return CloudAccess(
                region=first(region, "AWS_REGION", "AWS_DEFAULT_REGION"),
                profile=profile if access else first(profile, "AWS_PROFILE"),
                access_key=access,
                secret_key=secret,
                session_token=session,
                chosen_by=chosen,
            )
        case "vertex":
            return CloudAccess(
                region=first(region, "CLOUD_ML_REGION", "GOOGLE_CLOUD_LOCATION") or _ANY_REGION,
                project=first(project, "ANTHROPIC_VERTEX_PROJECT_ID", "GOOGLE_CLOUD_PROJECT"),
                credentials_file=first("", "GOOGLE_APPLICATION_CREDENTIALS"),
                chosen_by=chosen,
            )
        case _:
            return CloudAccess(
                api_version=first(version, "OPENAI_API_VERSION"), token=first("", "AZURE_OPENAI_AD_TOKEN")
            )


def no_place(variable: str, example: str) -> ProviderError:
    """Azure has no address of its own: each customer has one."""
    return ProviderError(
        "missing",
        f"Azure OpenAI needs the address of your resource, and {variable} is not set",
        hint=f"Run `export {variable}={example}`, or set base_url in its table.",
    )
