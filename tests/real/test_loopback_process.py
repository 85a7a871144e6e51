"""The loopback as a process of its own, as benchmarks and end-to-end tests use it."""

import asyncio
import json
import sys
from pathlib import Path

from tests.kit.providers import make_provider, make_request, receive_stream

ROOT = Path(__file__).parents[2]


async def test_the_process_prints_where_it_is_and_answers_by_its_script(tmp_path: Path) -> None:
    script, log = tmp_path / "script.json", tmp_path / "log.json"
    script.write_text(json.dumps([[{"think": "hm"}, {"say": "Hello there"}]]))
    arguments = ["--api", "anthropic", "--script", str(script), "--log", str(log), "--pace", "500"]
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.kit.loopback", *arguments, cwd=ROOT, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        lines = [(await process.stdout.readline()).decode().strip() for _ in range(4)]
        url, *variables, end = lines
        assert end == ""
        assert variables == ["ANTHROPIC_API_KEY=loopback", f"ANTHROPIC_BASE_URL={url}"]
        provider = make_provider("anthropic", url)
        for _ in range(2):  # the last answer is repeated
            assert (await receive_stream(provider, make_request("anthropic"))).text == "Hello there"
        await provider.close()
    finally:
        process.terminate()
        await process.wait()
    recorded = json.loads(log.read_text())
    assert [asked["kind"] for asked in recorded["requests"]] == ["chat", "chat"]
    assert recorded["refused"] == []


async def test_no_sdk_is_loaded_before_the_first_request() -> None:
    code = (
        "import sys, asyncio\n"
        "from gshtui.providers.selection import choose_model\n"
        "from gshtui.settings.model import Settings\n"
        "keys = {'ANTHROPIC_API_KEY': 'k', 'OPENAI_API_KEY': 'k', 'GEMINI_API_KEY': 'k'}\n"
        "for name in ('anthropic', 'openai', 'gemini', ''):\n"
        "    asyncio.run(choose_model(Settings(), keys, provider=name))\n"
        "print([m for m in ('anthropic', 'openai', 'google.genai', 'httpx2', 'httpx') if m in sys.modules])\n"
    )
    process = await asyncio.create_subprocess_exec(sys.executable, "-c", code, cwd=ROOT, stdout=asyncio.subprocess.PIPE)
    out, _ = await process.communicate()
    assert out.decode().strip() == "[]"
