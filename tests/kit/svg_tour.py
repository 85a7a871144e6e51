"""Pictures of the window for pages: without a font of the web, and several as one picture that moves.

A page such as a repository's front page loads nothing that a picture asks for, runs no script in it, and shows CSS.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_FONT_FACE = re.compile(r"\s*@font-face \{[^}]*\}")
_SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


def without_web_font(svg: str) -> str:
    """The picture in a font that is there."""
    return _FONT_FACE.sub("", svg).replace("Fira Code, monospace", MONOSPACE)


def tour(frames: Sequence[str], seconds: float) -> str:
    """One picture that shows these in turn, for ever; who wants less motion sees the first.

    Args:
        frames: pictures of one size, as `snapshots.SVG` serialises them.
        seconds: how long each is shown.
    """
    size = _SIZE.search(frames[0])
    if size is None or any((other := _SIZE.search(frame)) is None or other[0] != size[0] for frame in frames):
        raise ValueError("The frames of a tour have one size.")
    whole = seconds * len(frames)
    style = f"""
    .frame {{ visibility: hidden; animation: turn {whole:g}s step-end infinite }}
    @keyframes turn {{ 0% {{ visibility: visible }} {100 / len(frames):.4f}% {{ visibility: hidden }} }}
    @media (prefers-reduced-motion: reduce) {{
        .frame {{ animation: none }}
        #frame-0 {{ visibility: visible }}
    }}
"""
    parts = [f'<svg viewBox="0 0 {size[1]} {size[2]}" xmlns="http://www.w3.org/2000/svg">', f"<style>{style}</style>"]
    for number, frame in enumerate(frames):
        inside = re.sub(r"^.*?<svg[^>]*>|</svg>\s*$", "", without_web_font(frame), flags=re.DOTALL)
        inside = re.sub(r"\bterminal-", f"f{number}-", inside)
        # Negative delays: each frame is where it would be, had the tour begun long ago.
        delay = f"animation-delay: {number * seconds - whole:g}s"
        parts.append(f'<g class="frame" id="frame-{number}" style="{delay}">{inside}</g>')
    return "\n".join([*parts, "</svg>", ""])
