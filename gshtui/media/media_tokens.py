"""What pictures, documents and sounds cost in tokens, by the rule of each provider's present models. Pure.

Anthropic: a token for 28 × 28 pixels, within 2,576 pixels a side and 4,784 tokens (older models: 1,568 and 1,568);
platform.claude.com/docs/en/build-with-claude/vision. A page of a PDF is its text and a picture of it; …/pdf-support.
OpenAI: 1.2 tokens for 32 × 32 pixels, of at most 1,536 such patches; platform.openai.com/docs/guides/images-vision.
Google: 258 tokens up to 384 × 384 pixels, else 258 for each tile, and for each page; 32 a second of sound;
ai.google.dev/gemini-api/docs/tokens.

The provider's own count corrects it after the first answer, as it does every estimate.
"""

from __future__ import annotations

import math

import msgspec

from gshtui.bus.messages import Audio, Document, Image, Medium

_NOTE = 30
"""Tokens of the sentence in place of what a model cannot take."""
_PICTURE = 1_500
"""Of a picture whose size or whose provider's rule is unknown."""


class MediaRule(msgspec.Struct, frozen=True):
    """How a model takes pictures, documents and sounds. `api` is the provider's name in the catalog."""

    api: str = ""
    images: bool = True
    documents: bool = True
    audio: bool = True

    def tokens(self, medium: Medium) -> int:
        match medium:
            case Image():
                return _picture(self.api, medium.width, medium.height) if self.images else _NOTE
            case Document():
                return self._document(medium)
            case Audio():
                return _sound(self.api, medium) if self.audio else _NOTE

    def _document(self, document: Document) -> int:
        if document.media_type != "application/pdf":
            return _NOTE + (document.bytes or len(document.data) * 3 // 4) // 4
        text = document.text_bytes // 4
        if not self.documents or not (document.key or document.data):
            return _NOTE + text
        if not document.pages:
            return (document.bytes or len(document.data) * 3 // 4) // 4
        # Anthropic and OpenAI send each page as its text and as a picture of it; Google as a picture alone.
        match self.api:
            case "gemini":
                return document.pages * 258
            case "openai":
                return text + document.pages * _picture("openai", 1_275, 1_650)
            case _:
                return text + document.pages * _PICTURE


ANY_MODEL = MediaRule()
"""For a model of which nothing is known."""


def _picture(api: str, width: int, height: int) -> int:
    if not width or not height:
        return _PICTURE
    match api:
        case "anthropic":
            width, height = _within(width, height, 2_576)
            return min(4_784, math.ceil(width / 28) * math.ceil(height / 28))
        case "openai":
            return math.ceil(1.2 * min(1_536, math.ceil(width / 32) * math.ceil(height / 32)))
        case (
            "gemini"
        ):  # 258 a tile; small pictures are one, others are cut into squares of two thirds of the short side
            if width <= 384 and height <= 384:
                return 258
            tile = min(768, max(256, math.floor(min(width, height) / 1.5)))
            return 258 * math.ceil(width / tile) * math.ceil(height / tile)
        case _:
            return _PICTURE


def _within(width: int, height: int, edge: int) -> tuple[int, int]:
    longest = max(width, height)
    if longest <= edge:
        return width, height
    return max(1, round(width * edge / longest)), max(1, round(height * edge / longest))


def _sound(api: str, sound: Audio) -> int:
    seconds = sound.seconds or sound.bytes / 16_000  # 128 kbit a second
    return math.ceil(seconds * (32 if api == "gemini" else 10))
