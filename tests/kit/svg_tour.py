"""Pictures of the window for pages: without a font of the web, and several as one picture that moves.

A page such as a repository's front page loads nothing that a picture asks for, runs no script in it, and shows CSS.
"""

import re
from collections.abc import Sequence

_FONT_FACE = re.compile(r"\s*@font-face \{[^}]*\}")
_SIZE = re.compile(r'viewBox="0 0 ([\d.]+) ([\d.]+)"')
MONOSPACE = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"


_TEXT = re.compile(
    r'<text class="([\w-]+)" x="([\d.]+)" y="([\d.]+)" textLength="([\d.]+)" clip-path="([^"]+)">([^<]+)</text>'
)
_BLOCKS = "▁▂▃▄▅▆▇█"
"""Eighths of a cell, from below."""
_WIDE, _HIGH, _ABOVE = 12.2, 24.4, 18.5
"""Of a cell; and from its upper edge to the line that letters stand on."""


_OVER = 0.25
"""By which rows overlap, so that nothing shows between them."""


def without_web_font(svg: str) -> str:
    """The picture in a font that is there; what would show which one that is, is drawn: blocks and leading blanks."""
    return _TEXT.sub(_drawn, _FONT_FACE.sub("", svg).replace("Fira Code, monospace", MONOSPACE))


def _drawn(found: re.Match[str]) -> str:
    """A text that looks the same in every font: blocks join, and none begins or ends with blanks, which some skip."""
    style, x, y, length, clip, text = found.groups()
    plain = text.replace("&#160;", " ")
    left, right = len(plain) - len(plain.lstrip()), len(plain) - len(plain.rstrip())
    if not plain.strip():
        return found[0]
    if set(plain) <= {*_BLOCKS, " "}:
        return "".join(
            _block(style, float(x) + at * _WIDE, float(y), (_BLOCKS.index(one) + 1) / 8)
            for at, one in enumerate(plain)
            if one != " "
        )
    inner = plain[left : len(plain) - right].replace(" ", "&#160;")
    x, length = f"{float(x) + left * _WIDE:g}", f"{float(length) - (left + right) * _WIDE:g}"
    return f'<text class="{style}" x="{x}" y="{y}" textLength="{length}" clip-path="{clip}">{inner}</text>'


def _block(style: str, x: float, y: float, part: float) -> str:
    top = y - _ABOVE + _HIGH * (1 - part)
    return f'<rect class="{style}" x="{x:g}" y="{top:g}" width="{_WIDE}" height="{_HIGH * part + _OVER:g}"/>'


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
