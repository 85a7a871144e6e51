"""Placeholders for attachments that the model does not support. Pure.

Single files fit every provider when they are attached; what is limited here is what one request holds. Published are
Anthropic's 32 MB, 100 pictures and pages, 600 for windows above 200,000 tokens
(platform.claude.com/docs/en/build-with-claude/vision and …/pdf-support), Gemini's 100 MB in base64, 50 MB for a PDF
(ai.google.dev/gemini-api/docs/file-input-methods), 3,600 pictures (…/image-understanding) and 1,000 pages of a PDF
(…/document-processing; here of all), and OpenAI's 50 MB and 500 pictures
(developers.openai.com/api/docs/guides/images-vision, which later versions raise) and sounds
(…/models/gpt-audio-1.5). For OpenAI's PDFs only bytes are counted. What a provider takes less of, it refuses with an
error of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from gshtui.bus.messages import Audio, Document, Image, Medium
from gshtui.media.media_tokens import MediaRule
from gshtui.providers.port import Capabilities
from gshtui.text.sanitise import one_line

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What every provider with eyes takes."""
PDF = "application/pdf"
OF_GOOGLE = frozenset({"audio/wav", "audio/mpeg", "audio/flac", "audio/ogg", "audio/aac", "audio/aiff"})
OF_OPENAI = frozenset({"audio/wav", "audio/mpeg"})


class RequestLimits(msgspec.Struct, frozen=True):
    """The most that one request may hold; 0: no limit is known.

    Attributes:
        files: bytes of all files before they are encoded, with room for the rest of the request.
        pages: of all PDFs.
    """

    files: int = 0
    images: int = 0
    pages: int = 0


_SMALL_WINDOW = 200_000
"""Tokens of a window; for larger ones Anthropic takes six times as many pictures and pages."""


def request_limits(abilities: Capabilities) -> RequestLimits:
    """What a request to this model may hold."""
    match abilities.api:
        case "anthropic":
            most = 600 if abilities.window > _SMALL_WINDOW else 100
            return RequestLimits(22_000_000, most, most)
        case "openai":
            return RequestLimits(36_000_000, 500)
        case "gemini":
            return RequestLimits(70_000_000, 3_600, 1_000)
        case _:
            return RequestLimits()


def beyond_limits(media: Sequence[Medium], abilities: Capabilities) -> dict[int, str]:
    """The files that do not fit into one request any more, by their place, each with a sentence. `media`: all of a
    request, the oldest first; the newest are sent.
    """
    limits = request_limits(abilities)
    size = images = pages = 0
    found: dict[int, str] = {}
    for place in range(len(media) - 1, -1, -1):
        block = media[place]
        if instead_of(block, abilities) or (isinstance(block, Document) and is_text(block)):
            continue
        its_size = block.bytes or len(block.data) * 3 // 4
        its_pages = block.pages if isinstance(block, Document) else 0
        why = ""
        if limits.files and size + its_size > limits.files:
            why = f"a request to this model takes {limits.files // 1_000_000} MB of files"
        elif limits.images and isinstance(block, Image) and images >= limits.images:
            why = f"a request to this model takes {limits.images:,} pictures"
        elif limits.pages and pages + its_pages > limits.pages:
            why = f"a request to this model takes {limits.pages:,} pages of PDFs"
        if why:
            called = _called(_WHAT[type(block)], one_line(block.name, 120))
            as_text = isinstance(block, Document) and block.text
            newer = ", and newer ones fill it" if size or images or pages else ""
            found[place] = f"{called} {'is sent as its text' if as_text else 'was left out'}: {why}{newer}."
            continue
        size, pages, images = size + its_size, pages + its_pages, images + isinstance(block, Image)
    return found


_WHAT: dict[type[Medium], str] = {Image: "image", Document: "document", Audio: "sound"}


def instead_of(block: Medium, abilities: Capabilities) -> str:
    """One sentence about what is sent in place of a block; empty: it is sent as it is."""
    name = one_line(block.name, 120)
    match block:
        case Image():
            if not abilities.images:
                return f"{_called('image', name)} was left out: this model cannot see images."
            if block.media_type not in IMAGES:
                return f"{_called('image', name)} was left out: models cannot read {one_line(block.media_type, 60)}."
        case Document():
            if is_text(block) or (abilities.documents and block.media_type == PDF and (block.key or block.data)):
                return ""
            if not block.text:
                return f"{_called('document', name)} was left out: this model cannot read {_kind(block)}."
            why = (
                "it is too large to be sent itself" if abilities.documents else f"this model cannot read {_kind(block)}"
            )
            return f"{_called('document', name)} is sent as its text: {why}."
        case Audio():
            if block.media_type not in _sounds(abilities):
                return (
                    f"{_called('sound', name)} was left out: this model cannot hear {one_line(block.media_type, 60)}."
                )
    return ""


def media_rule(abilities: Capabilities) -> MediaRule:
    """How the model takes them, for the estimate of tokens."""
    return MediaRule(abilities.api, abilities.images, abilities.documents, abilities.audio)


def is_text(document: Document) -> bool:
    """Whether it is sent as text in any case."""
    return document.media_type.startswith("text/") or document.media_type == "application/json"


def _sounds(abilities: Capabilities) -> frozenset[str]:
    if not abilities.audio:
        return frozenset()
    return OF_OPENAI if abilities.api == "openai" else OF_GOOGLE


def _kind(document: Document) -> str:
    return "PDFs" if document.media_type == PDF else one_line(document.media_type, 60)


def _called(what: str, name: str) -> str:
    return f"The {what}{f' {name}' if name else ''}"
