"""What a model cannot take of pictures, documents and sounds, and what it is sent instead. Pure."""

from __future__ import annotations

from gshtui.bus.messages import Audio, Document, Image, Medium
from gshtui.media.media_tokens import MediaRule
from gshtui.providers.port import Capabilities
from gshtui.text.sanitise import one_line

IMAGES = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What every provider with eyes takes."""
PDF = "application/pdf"
OF_GOOGLE = frozenset({"audio/wav", "audio/mpeg", "audio/flac", "audio/ogg", "audio/aac", "audio/aiff"})
OF_OPENAI = frozenset({"audio/wav", "audio/mpeg"})


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
