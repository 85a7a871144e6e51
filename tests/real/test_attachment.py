"""Pictures, PDFs and sounds: told by content, read within limits, kept once, and sent as each API takes them."""

import base64
import io
import tempfile
import wave
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Pillow
from pypdf import PdfWriter

from gshtui.agents.loop import attachment_notes
from gshtui.bus.messages import Audio, Document, Image, Message, Text
from gshtui.media import attachment, media_files, media_process
from gshtui.media.attachment import AttachmentError, attach, small_png
from gshtui.media.media_kind import media_type
from gshtui.media.media_tokens import MediaRule
from gshtui.providers.port import Capabilities
from gshtui.providers.wire.media_notes import beyond_limits, instead_of
from gshtui.providers.wire.wire_history import turns
from gshtui.text.png_picture import read_png
from tests.kit.endings import closing_async
from tests.kit.loopback.apis import loopback
from tests.kit.loopback.script import Say
from tests.kit.pdf import pdf
from tests.kit.png import png
from tests.kit.providers import APIS, make_message, make_provider, make_request, provider_with_loopback, receive_stream
from tests.kit.warm_program import run_gsh


def wav(seconds: int = 2) -> bytes:
    out = io.BytesIO()
    with wave.open(out, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(1)
        sound.setframerate(8_000)
        sound.writeframes(b"\x80" * 8_000 * seconds)
    return out.getvalue()


def put(path: Path, data: bytes) -> Path:
    path.write_bytes(data)
    return path


def test_a_picture_is_kept_once_without_what_its_camera_wrote(tmp_path: Path) -> None:
    tags = Pillow.Exif()
    tags[0x010E], tags[0x0112] = "owned \x1b]0;by\x07", 6  # a description; turned by a quarter
    Pillow.new("RGB", (3_000, 1_000), (9, 99, 200)).save(tmp_path / "a\x1b[31m.jpg", exif=tags, icc_profile=b"x" * 200)
    block = attach(tmp_path / "a\x1b[31m.jpg")
    again = attach(tmp_path / "a\x1b[31m.jpg")
    assert isinstance(block, Image) and block == again and block.data == "" and "\x1b" not in block.name
    assert (block.width, block.height) == (667, media_process.EDGE) and "scaled from 1000×3000" in block.note
    with Pillow.open(io.BytesIO(media_files.content(block))) as kept:
        assert kept.size == (667, 2_000) and not kept.getexif() and "icc_profile" not in kept.info
    assert b"owned" not in media_files.content(block)
    assert (media_files.folder() / block.key).stat().st_mode & 0o777 == 0o600
    assert sorted(path.name for path in media_files.folder().iterdir()) == sorted(media_files.keys(block))
    pixels = zlib.decompress(media_files.read(block.small))
    assert len(pixels) % (3 * block.columns) == 0 and 0 < block.columns <= media_process.COLUMNS


def test_a_terminal_is_given_a_small_png_of_any_picture(tmp_path: Path) -> None:
    Pillow.effect_noise((1_800, 900), 90).convert("RGB").save(tmp_path / "a.jpg")
    block = attach(tmp_path / "a.jpg")
    shown = read_png(small_png(block.key))  # what a terminal may be given
    assert (shown.width, shown.height) == (600, 300)
    assert small_png("0" * 32) == b"" == small_png("../gsh.db")
    made = attachment.pixels(png(40, 30), 16, 20)  # what is drawn by sixel, as large as its cells
    assert len(made) == 768 + 16 * 20 and max(made[768:]) < 96
    assert attachment.pixels(b"no picture", 16, 20) == b""


def test_of_an_animation_the_first_picture_is_sent_and_other_kinds_become_png(tmp_path: Path) -> None:
    first, *rest = [Pillow.new("RGB", (20, 10), (20 * n, 0, 0)) for n in range(4)]
    first.save(tmp_path / "a.gif", save_all=True, append_images=rest)
    first.save(tmp_path / "b.bmp")
    for name, note in (("a.gif", "only the first of 4 frames is sent"), ("b.bmp", "converted from BMP to PNG")):
        block = attach(tmp_path / name)
        assert isinstance(block, Image) and block.media_type == "image/png" and note in block.note


def test_a_png_without_metadata_keeps_its_pixels_as_they_are(tmp_path: Path) -> None:
    block = attach(put(tmp_path / "a.png", png(40, 30)))
    assert media_files.content(block) == png(40, 30) and isinstance(block, Image) and not block.note


def test_a_pdf_is_kept_with_its_text_and_sent_as_text_where_it_cannot_be_read(tmp_path: Path) -> None:
    data = pdf("Hello one", "and two", packed=True)
    block = attach(put(tmp_path / "letter", data))
    assert isinstance(block, Document) and block.pages == 2 and media_files.content(block) == data
    assert "[page 2 of 2]\nand two" in media_files.read(block.text).decode()
    assert instead_of(block, Capabilities(documents=True)) == ""
    assert "sent as its text: this model cannot read PDFs" in instead_of(block, Capabilities())


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("a.png", b"this is no picture", "not what its name says"),
        ("a.png", png()[:45], "damaged picture"),
        ("a.png", b"\x89PNG\r\n\x1a\n" + b"x" * 500, "damaged picture"),
        ("a.jpg", b"\xff\xd8\xff" + b"\0" * 500, "none that can be read"),
        ("a.pdf", b"%PDF-1.7\n" + b"\0" * 500, "damaged PDF"),
        ("a.wav", b"RIFF\0\0\0\0WAVE" + b"\0" * 40, "none that can be read"),
        ("a", b"\0\1\2\3" * 100, "neither a picture"),
        ("a.txt", b"", "is empty"),
    ],
)
def test_what_is_none_is_refused_in_one_sentence(tmp_path: Path, name: str, data: bytes, why: str) -> None:
    with pytest.raises(AttachmentError, match=why) as refused:
        attach(put(tmp_path / name, data))
    assert "\n" not in str(refused.value) and not media_files.folder().exists()


def test_bombs_are_refused_before_they_are_unpacked(tmp_path: Path) -> None:
    wide = tmp_path / "wide.png"
    Pillow.new("1", (14_000, 14_000)).save(wide)
    assert wide.stat().st_size < 200_000
    with pytest.raises(AttachmentError, match="pixels"):
        attach(wide)
    bomb = pdf("x")
    drawn = zlib.compress(b" " * 120_000_000, 9)
    at, end = bomb.index(b"<< /Length"), bomb.index(b"endstream") + 9
    packed = b"<< /Length %d /Filter /FlateDecode >>\nstream\n%s\nendstream" % (len(drawn), drawn)
    with pytest.raises(AttachmentError, match=r"unpacks to far more|too much"):
        attach(put(tmp_path / "bomb.pdf", bomb[:at] + packed + bomb[end:]))
    huge = put(tmp_path / "huge.png", png())
    with huge.open("r+b") as file:
        file.truncate(4 << 30)  # sparse: 4 GB that take no room
    with pytest.raises(AttachmentError, match="4,294,967,296 bytes"):
        attach(huge)


def test_a_pdf_with_a_password_is_refused(tmp_path: Path) -> None:
    writer = PdfWriter()
    writer.add_blank_page(100, 100)
    writer.encrypt("secret", algorithm="RC4-40")
    writer.write(tmp_path / "locked.pdf")
    with pytest.raises(AttachmentError, match="password"):
        attach(tmp_path / "locked.pdf")


def test_a_reader_that_hangs_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attachment, "_WITHIN", 0.01)
    with pytest.raises(AttachmentError, match="too long"):
        attach(put(tmp_path / "a.png", png()))


def test_kinds_are_told_by_content() -> None:
    for head, kind in (
        (png(), "image/png"),
        (pdf("x"), "application/pdf"),
        (b"\r\n%PDF-1.4", "application/pdf"),
        (wav(), "audio/wav"),
        (b"RIFF\0\0\0\0WEBPVP8 ", "image/webp"),
        (b"ID3\4\0", "audio/mpeg"),
        (b"\xff\xfb\x90\x64", "audio/mpeg"),
        (b"\xff\xf1\x50\x80", "audio/aac"),
        (b"print('%PDF-')", ""),
        (b"BMW is a car, and this a text", ""),
        (b"\xff\xfe" + "a text".encode("utf-16-le"), ""),
        (b"", ""),
    ):
        assert media_type(head) == kind, head


@pytest.mark.parametrize("api", APIS)
async def test_each_api_gets_it_in_its_own_form_or_is_told_why_not(api: str, tmp_path: Path) -> None:
    picture, sound = attach(put(tmp_path / "a.png", png())), attach(put(tmp_path / "b.wav", wav()))
    document = attach(put(tmp_path / "c.pdf", pdf("the text of it")))
    raw = {name: base64.b64encode((tmp_path / name).read_bytes()).decode() for name in ("a.png", "b.wav", "c.pdf")}
    async with provider_with_loopback(api, [[Say("seen")]]) as (provider, server):
        await receive_stream(provider, make_request(api, make_message("user", "look", picture, document, sound)))
        content: Any = server.chats[-1].body
    said = str(content)
    shown: list[Any] = {
        "anthropic": lambda: [
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": raw["a.png"]}},
            {"type": "base64", "media_type": "application/pdf", "data": raw["c.pdf"]},
            "The sound b.wav was left out: this model cannot hear audio/wav.",
        ],
        "openai": lambda: [
            {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{raw['a.png']}"},
            {"type": "input_file", "filename": "c.pdf", "file_data": f"data:application/pdf;base64,{raw['c.pdf']}"},
            "The sound b.wav was left out",
        ],
        "gemini": lambda: [
            {"inlineData": {"mimeType": "image/png", "data": raw["a.png"]}},
            {"inlineData": {"mimeType": "application/pdf", "data": raw["c.pdf"]}},
            {"inlineData": {"mimeType": "audio/wav", "data": raw["b.wav"]}},
        ],
        "ollama": lambda: ["The document c.pdf is sent as its text", "the text of it", "The sound b.wav was left out"],
    }.get(api, list)()
    for one in shown:
        assert str(one) in said, one


async def test_a_model_of_openai_that_hears_gets_sounds_by_chat_completions(tmp_path: Path) -> None:
    sound = attach(put(tmp_path / "b.wav", wav()))
    async with loopback("openai-chat", [[Say("heard")]]) as server:
        async with closing_async(make_provider("openai", server.url)) as provider:
            assert provider.capabilities("gpt-audio-1.5").audio
            request = make_request("openai", make_message("user", "listen", sound), model="gpt-audio-1.5")
            answer = await receive_stream(provider, request)
        (asked,) = server.chats
    raw = base64.b64encode((tmp_path / "b.wav").read_bytes()).decode()
    assert {"type": "input_audio", "input_audio": {"data": raw, "format": "wav"}} in asked.body["messages"][-1][
        "content"
    ]
    assert answer.text == "heard"


def test_a_request_holds_no_more_than_its_provider_takes() -> None:
    """The newest files are sent; for each of the others there is a sentence."""
    claude = Capabilities(window=200_000, images=True, documents=True, api="anthropic")
    pictures = [Image("image/png", "", f"{n}.png", "k", 100_000) for n in range(103)]
    over = beyond_limits(pictures, claude)
    assert sorted(over) == [0, 1, 2]
    assert (
        over[0] == "The image 0.png was left out: a request to this model takes 100 pictures, and newer ones fill it."
    )
    assert not beyond_limits(pictures, Capabilities(window=1_000_000, images=True, api="anthropic"))
    assert not beyond_limits(pictures, Capabilities(images=True))
    large = [Image("image/png", "", f"{n}.png", "k", 3_000_000) for n in range(9)]
    assert "takes 22 MB of files" in beyond_limits(large, claude)[1] and 2 not in beyond_limits(large, claude)
    book = Document("application/pdf", "", "book.pdf", "k", 9, 300, "t", 9)
    (said,) = beyond_limits([book], claude).values()
    assert said == "The document book.pdf is sent as its text: a request to this model takes 100 pages of PDFs."
    assert not beyond_limits([book], Capabilities(images=True, api="anthropic"))  # it cannot read PDFs anyway
    notes = attachment_notes(pictures[:2], "Claude", claude, pictures[2:])
    assert [note.split()[3] for note in notes] == ["3.png", "4.png"], "what the new ones push out, and no other"
    sent = turns([Message("m", "user", (Text("see"), *pictures))], "anthropic", claude)
    assert "[The image 0.png was left out" in str(sent[0].blocks[1])


def test_tokens_follow_each_provider() -> None:
    picture = Image("image/png", "", "", "k", 9, 1_000, 1_000)
    assert MediaRule("anthropic").tokens(picture) == 36 * 36  # patches of 28 pixels
    assert MediaRule("openai").tokens(picture) == 1_229  # 32 × 32 patches, 1.2 each
    assert MediaRule("gemini").tokens(picture) == 4 * 258
    assert MediaRule("gemini").tokens(Image("image/png", "", "", "k", 9, 300, 200)) == 258
    assert MediaRule("gemini").tokens(Document("application/pdf", "", "", "k", 9, 10)) == 2_580
    assert MediaRule("gemini").tokens(Audio("audio/wav", "", "", "k", 9, 60.0)) == 1_920
    assert all(MediaRule("x", False, False, False).tokens(one) <= 30 for one in (picture, Audio("audio/wav", "")))
    whole = Document("application/pdf", "", "", "k", 9, 10, "t", 4_000)
    assert MediaRule("ollama", documents=False).tokens(whole) == 1_030  # its text


def test_a_picture_on_standard_input_and_by_name_reach_the_turn(tmp_path: Path) -> None:
    put(tmp_path / "a.png", png())
    both = run_gsh("prompt", "--json", "see @a.png and @none.png", stdin=png(9, 9), cwd=tmp_path)
    by_command = run_gsh("prompt", "--json", "/file a.png text='what is it'", cwd=tmp_path)
    for run, count in ((both, 2), (by_command, 1)):
        assert run.code == 0, run.err
        said = next(line["message"] for line in run.lines if line["type"] == "MessageAppended")
        kinds = [block["type"] for block in said["blocks"]]
        assert kinds == ["text", *["image"] * count] and said["blocks"][1]["data"] == ""
        assert "cannot see images" in run.err  # the offline provider
    assert "The image standard input.png was left out" in both.err and "There is no file none.png" in both.err
    assert not list(Path(tempfile.gettempdir()).glob("gsh-stdin-*"))
    assert len(list(media_files.folder().iterdir())) == 4  # two pictures, each with its small copy
    wrong = run_gsh("prompt", "see @a.png", cwd=put_fake(tmp_path))
    assert wrong.code != 0 and "not what its name says" in wrong.err and "Traceback" not in wrong.err


def put_fake(folder: Path) -> Path:
    put(folder / "a.png", b"words")
    return folder
