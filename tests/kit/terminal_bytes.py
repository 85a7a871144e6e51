"""What terminals send, made by a grammar: every family of sequences, cut anywhere, with text and pastes between."""

from collections.abc import Callable
from dataclasses import dataclass
from random import Random

DELAYS = (0.0, 0.001, 0.03, 0.049, 0.051, 0.08, 0.2, 0.3, 0.5, 0.9, 1.0)
"""Seconds between the two halves of a sequence."""
_WORDS = ("a", "hello", "xyz 12", "é", "漢字", "🙂", "می‌خواهم", "a\u00a0b", "\u200f", "\u2060\u00ad", "ok-", "q")


@dataclass(frozen=True)
class Sent:
    """One thing that a terminal sends."""

    data: bytes
    types: str | None = ""
    """The text that a person means by it; `None`: whatever it types when it comes whole."""
    pastes: str | None = None
    """The text that is pasted."""


def _numbers(random: Random, separators: str = ";") -> str:
    numbers = (random.choice(("", "0", "1", "2", "97", "200", "57441", "1114112", "99999999999")) for _ in range(4))
    return "".join(f"{number}{random.choice(separators)}" for number in list(numbers)[: random.randint(0, 4)])


def _csi(random: Random) -> Sent:
    parameters = "".join(random.choices("0123456789;:<=>?", k=random.choice((0, 1, 2, 3, 5, 9, 30, 300))))
    between = "".join(random.choices(" !\"#%&'()*+,-./", k=random.choice((0, 0, 0, 1, 2))))
    final = chr(random.randint(0x40, 0x7E))
    if not parameters and not between and final in "[M":
        final = "A"
    whole = f"\x1b[{parameters}{between}{final}"
    return Sent(b"", "") if whole == "\x1b[200~" else Sent(whole.encode(), None if final in "u~ABCDEFHPQRS" else "")


def _cursor_key(random: Random) -> Sent:
    final = random.choice("ABCDEFHPQS")
    field = random.choice(("", "1;1", "1;5", "1;1:1", "1;2:2", "1;1:3", "1;:3", "1;;65", "1:2;3:4"))
    return Sent(f"\x1b[{field}{final}".encode())


def _edit_key(random: Random) -> Sent:
    number = random.choice((2, 3, 5, 6, 7, 8, 11, 15, 24, 29))
    return Sent(f"\x1b[{number}{random.choice(('', ';5', ';1:1', ';2:2', ';1:3', ':1;1'))}~".encode())


def _kitty(random: Random) -> Sent:
    letter = random.choice("aqz17é/")
    code = random.choice((f"{ord(letter)}", f"{ord(letter)}::{ord(letter)}", f"{ord(letter)}:{ord(letter)}"))
    event = random.choice((1, 2, 3))
    modifiers, text = random.choice((("1", True), ("129", True), ("", True), ("5", False), ("3", False), ("9", False)))
    field = random.choice(("", f";{modifiers}", f";{modifiers or 1}:{event}"))
    types = letter if (text or not field) and not (event == 3 and ":" in field) else ""
    associated = f"{field or ';'};{ord(letter)}" if types and random.random() < 0.5 else field
    return Sent(f"\x1b[{code}{associated}u".encode(), types)


def _kitty_wild(random: Random) -> Sent:
    return Sent(f"\x1b[{_numbers(random, ';:')}{random.choice('u~ABCDEFHPQRS')}".encode(), None)


def _other_keys(random: Random) -> Sent:
    letter = random.choice("ab9")
    return Sent(f"\x1b[27;{random.choice((5, 3, 7))};{ord(letter)}~".encode())


def _win32(random: Random) -> Sent:
    return Sent(f"\x1b[{random.randint(1, 255)};30;{random.choice((0, 97))};{random.randint(0, 1)};0;1_".encode())


def _ss3(random: Random) -> Sent:
    return Sent(f"\x1bO{random.choice(('', '', '2', '1;5'))}{chr(random.randint(0x40, 0x7E))}".encode(), None)


def _string(random: Random) -> Sent:
    kind = random.choice("]P_^X")
    content = random.choice(
        (
            "11;rgb:1e1e/1e1e/2e2e",
            "4;1;rgb:ff/00/00",
            "52;c;aGVsbG8=",
            "0;title é",
            "Lname",
            ">|xterm(379)",
            "1+r544e=787465",
            "0+r",
            "!|00000000",
            "1$r0m",
            "Gi=31;OK",
            "hello",
            "",
            "q\tw\re",
            "5522;type=read:status=OK",
            "x" * 5_000,
        )
    )
    if not content:
        content = "1"
    end = random.choice(("\x1b\\", "\x1b\\", "\x07"))
    return Sent(f"\x1b{kind}{content}{end}".encode())


def _report(random: Random) -> Sent:
    return Sent(
        random.choice(
            (
                "\x1b[?62;22;52c",
                "\x1b[>84;0;0c",
                "\x1b[=1;0c",
                "\x1b[?1u",
                "\x1b[?25u",
                "\x1b[0n",
                "\x1b[?997;1n",
                "\x1b[24;80R",
                "\x1b[?24;80;1R",
                "\x1b[?2026;2$y",
                "\x1b[?2048;1$y",
                "\x1b[4;2$y",
                "\x1b[?1;2S",
                "\x1b[8;24;80t",
                "\x1b[4;600;800t",
                "\x1b[48;24;80;600;800t",
                "\x1b[48;0;0;0;0t",
                "\x1b[48;24:1;80:2;0;0t",
                "\x1b[48;99999999;9;1;1t",
                "\x1b[I",
                "\x1b[O",
                "\x1b[?6c",
                "\x1b[1;1;112;112;1;0x",
            )
        ).encode()
    )


def _mouse(random: Random) -> Sent:
    button, x, y = random.randint(0, 127), random.choice((1, 80, 500, 99999, -3)), random.choice((1, 24, 0, 99999))
    match random.randint(0, 2):
        case 0:
            return Sent(f"\x1b[<{button};{x};{y}{random.choice('Mm')}".encode())
        case 1:
            return Sent(f"\x1b[{32 + button};{abs(x)};{y}M".encode())
        case _:
            return Sent(
                b"\x1b[M" + bytes((random.choice((32, 35, 96, 97)), random.randint(33, 255), random.randint(33, 127)))
            )


def _console(random: Random) -> Sent:
    return Sent(random.choice((b"\x1b[[A", b"\x1b[[E", b"\x1b[3$", b"\x1b[7$", b"\x1b[3^", b"\x1b[a")))


def _eight_bit(random: Random) -> Sent:
    csi = random.choice(("A", "1;5A", "<0;3;4M", "?62;22c", "I", "97;1:1u"))
    return random.choice(
        (
            Sent(b"\x9b" + csi.encode(), "a" if csi.endswith("u") else ""),
            Sent(b"\x8fA"),
            Sent(b"\x85"),
            Sent(b"\x9d11;rgb:1/1/1\x9c"),
            Sent(b"\x90>|foot\x9c"),
            Sent(b"\x9fGi=1;OK\x9c"),
            Sent(b"\x9ehello\x1b\\"),
            Sent(b"\x98hello\x9c"),
        )
    )


def _paste(random: Random) -> Sent:
    text = "".join(
        random.choices(("p1", "\r", "\n", "é", "\x1b[31m", " ", "\t", "[200~", "exit"), k=random.randint(0, 6))
    )
    return Sent(f"\x1b[200~{text}\x1b[201~".encode(), "", text)


FAMILIES: tuple[Callable[[Random], Sent], ...] = (
    _csi,
    _csi,
    _cursor_key,
    _edit_key,
    _kitty,
    _kitty,
    _kitty_wild,
    _other_keys,
    _win32,
    _ss3,
    _string,
    _string,
    _report,
    _mouse,
    _mouse,
    _console,
    _eight_bit,
    _paste,
)


def sequence(random: Random) -> Sent:
    """A sequence of any family."""
    return random.choice(FAMILIES)(random)


def quiet_sequence(random: Random) -> Sent:
    """One that moves no cursor and presses no key; or a paste."""
    match random.randint(0, 5):
        case 0:
            text = random.choice(("p1", "p1\rp2", "p1\rp2\rp3"))
            return Sent(f"\x1b[200~{text}\x1b[201~".encode(), "", text)
        case 1:
            return Sent(f"\x1b[<64;{random.randint(1, 90)};{random.randint(1, 20)}M".encode())
        case 2:
            return Sent(random.choice((b"\x1b[97;1:3u", b"\x1b[1;1:3A", b"\x1b[3;1:3~", b"\x1b[65;30;97;0;0;1_")))
        case 3:
            return _report(random)
        case _:
            return _string(random)


def words(random: Random) -> str:
    """What a person types between."""
    return random.choice(_WORDS)


BROKEN = (
    b"\xff",
    b"\xc3(",
    b"\xe2\x28\xa1",
    b"\xc0\x80",
    b"\xf8\x88\x80\x80\x80",
    b"\xed\xa0\x80",
    b"\xf0\x9f\x98 ",
    b"\xc0\x9b",
    b"\xfe",
)
"""Bytes that are no UTF-8."""
