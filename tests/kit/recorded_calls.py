"""A call with its messages, as the record gives its pages."""

from typing import Any

from gshtui.bus.call_data import CallInfo, CallMember, CallMessage
from gshtui.calls.call_values import CallPage, ReadCall
from tests.kit.window import NOW

MEMBERS = (
    CallMember(member="person", name="amy"),
    CallMember(member="0001", name="claude", is_agent=True),
    CallMember(member="bo", name="bo"),
)


def said(seq: int, text: str, author: str = "person", **more: Any) -> CallMessage:
    names = {"person": "amy", "0001": "claude"}
    return CallMessage(
        call="audio",
        seq=seq,
        id=f"m{seq}",
        author=author,
        author_name=names.get(author, author),
        role=more.pop("role", "assistant" if author == "0001" else "user"),
        text=text,
        at=NOW - 600,
        **more,
    )


def audio(messages: int, *, seen: int = -1) -> CallInfo:
    mine = CallMember(member="person", name="amy", seen=messages - 1 if seen < 0 else seen)
    return CallInfo(name="audio", topic="JACK routing", messages=messages, members=(mine, *MEMBERS[1:]))


LONG = [said(seq, f"message number {seq}", "bo") for seq in range(450)]
TALK = [
    said(0, "amy invited claude.", role="system"),
    said(1, "@claude how do we route audio?"),
    said(2, "Two ways:\n\n- `pw-link`\n- **JACK**\n\n```sh\njack_connect a b\n```", "0001", in_reply_to=1),
    said(3, "I prefer JACK.", "bo"),
]


def pages(stored: list[CallMessage]) -> dict[Any, Any]:
    """What reading the call gives."""
    found: dict[Any, Any] = {}
    befores = [None, *range(len(stored) + 1)]
    for before in befores:
        part = [one for one in stored if before is None or one.seq < before]
        for limit in (1, 200):
            page = CallPage(audio(len(stored)), tuple(part[-limit:]))
            found[ReadCall(call="audio", before=before, limit=limit)] = page
    return found
