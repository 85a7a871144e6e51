"""Claude in the clouds of Amazon and Google, through Anthropic's SDK: how its client is made, and what it sends.

Nothing is signed here: boto3 and google-auth find the credentials, and the SDK uses them. What the person's environment
says is passed to them, since theirs may be another. Called by `anthropic`, in a thread.
"""

from __future__ import annotations

import importlib
from typing import Any, Protocol

from gshtui.providers.port import ProviderError
from gshtui.providers.wire.event_stream import DecodedStream, EventStream, Wire
from gshtui.providers.wire.provider_errors import ErrorOrigin, detail
from gshtui.providers.wire.sdk_connection import Endpoint
from gshtui.settings.known_providers import label_of
from gshtui.system.network.proxy_routes import EnvironmentFaultError

VERSION = "2026-10-21"
"""Of the API: what the SDK puts into the body, as these clouds have no header for it."""
GOOGLE_HINT = (
    "Run `gcloud auth application-default login`, or set GOOGLE_APPLICATION_CREDENTIALS, and name the project."
)
_SCOPES = ["https://www.googleapis.com/auth/cloud-platform"]


class ClaudeCloud(Protocol):
    """A cloud that serves Claude."""

    label: str
    package: str
    """That finds the credentials: the SDK needs it beside itself."""
    hint: str
    """What to do where it finds none."""

    def wire(self, body: Wire) -> Wire:
        """The body as it is sent: the model is in the address."""
        ...

    def client(self, http: Any) -> Any:
        """The SDK's client. May raise any error of the SDK's or of the library of credentials."""
        ...

    @property
    def address(self) -> str:
        """Where it is, as far as that is known beforehand."""
        ...

    def events(self, origin: ErrorOrigin, answered: Any) -> EventStream | DecodedStream: ...


class Bedrock:
    """Amazon Bedrock."""

    label = label_of("bedrock")
    package = "boto3"
    hint = "Set AWS_REGION, and AWS_BEARER_TOKEN_BEDROCK, AWS_PROFILE or AWS_ACCESS_KEY_ID, or run `aws sso login`."

    def __init__(self, place: Endpoint) -> None:
        self._place = place

    @property
    def address(self) -> str:
        region = self._place.cloud.region
        return self._place.base_url or f"https://bedrock-runtime.{region}.amazonaws.com"

    def wire(self, body: Wire) -> Wire:
        kept = {name: value for name, value in body.items() if name not in ("model", "stream")}
        return {**kept, "anthropic_version": VERSION}

    def client(self, http: Any) -> Any:
        from anthropic import AsyncAnthropicBedrock

        boto3: Any = importlib.import_module("boto3")

        place, cloud = self._place, self._place.cloud
        profile = cloud.profile or None
        region = cloud.region
        if profile or not region:  # a profile that is not there is told now, not by the first request
            of_profile = boto3.Session(profile_name=profile).region_name
            region = region or of_profile
        if not region:
            raise ValueError("no AWS region is set")
        # Without a key and credentials, the SDK would take those of this process, which need not be the person's.
        made = AsyncAnthropicBedrock(
            api_key=place.key, aws_region=region, base_url=place.base_url or None, max_retries=0, http_client=http
        )
        if not place.key:
            made.api_key = None
            made.aws_profile = profile
            made.aws_access_key = cloud.access_key or None
            made.aws_secret_key = cloud.secret_key or None
            made.aws_session_token = cloud.session_token or None
        return made

    def events(self, origin: ErrorOrigin, answered: Any) -> DecodedStream:
        return DecodedStream(answered)


class VertexClaude:
    """Vertex AI."""

    label = label_of("vertex")
    package = "google.auth"
    hint = GOOGLE_HINT

    def __init__(self, place: Endpoint) -> None:
        self._place = place

    @property
    def address(self) -> str:
        return self._place.base_url or "https://aiplatform.googleapis.com"

    def wire(self, body: Wire) -> Wire:
        kept = {name: value for name, value in body.items() if name != "model"}
        return {**kept, "anthropic_version": VERSION}

    def client(self, http: Any) -> Any:
        from anthropic import AsyncAnthropicVertex

        cloud = self._place.cloud
        credentials, project = google_credentials(self._place)
        options: dict[str, Any] = {"project_id": cloud.project or project} if cloud.project or project else {}
        return AsyncAnthropicVertex(
            region=cloud.region,
            credentials=credentials,
            base_url=self._place.base_url or None,
            max_retries=0,
            http_client=http,
            **options,
        )

    def events(self, origin: ErrorOrigin, answered: Any) -> EventStream:
        return EventStream(origin, answered.response)


async def cloud_answer(cloud: ClaudeCloud, client: Any, body: Wire) -> Any:
    """The stream of the answer's events. Raises the SDK's errors, and `ProviderError` where no request can be made.

    `messages.create` would send and give the same, but load a type for every kind of message, and copy the body.
    `client`: the cloud's; it takes the model out of the body and puts it into the address.
    """
    import httpx2
    from anthropic import APIError, AsyncStream

    try:
        return await client.post("/v1/messages", cast_to=object, stream=True, stream_cls=AsyncStream[object], body=body)
    except (APIError, httpx2.HTTPError, OSError, EnvironmentFaultError):
        raise
    except Exception as error:
        raise unusable(cloud.label, error, cloud.hint) from error


def refused(error: Exception) -> Any:
    """The response of an SDK's error that says a status; `None`: it is another."""
    from anthropic import APIStatusError

    return error.response if isinstance(error, APIStatusError) else None


def unusable(label: str, error: Exception, hint: str) -> ProviderError:
    """No request was sent: what the SDK or a library of credentials says is missing."""
    return ProviderError("auth", f"{label} cannot be asked: {detail(str(error)).rstrip('.')}", hint=hint)


def google_credentials(place: Endpoint) -> tuple[Any, str]:
    """Google's credentials of the person, and the project that they name. Raises google-auth's errors."""
    auth: Any = importlib.import_module("google.auth")
    if file := place.cloud.credentials_file:
        found, project = auth.load_credentials_from_file(file, scopes=_SCOPES)
    else:
        found, project = auth.default(scopes=_SCOPES)
    return found, project or ""
