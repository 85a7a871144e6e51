"""“Too long”, in the words of many servers: understood, and told apart from what only sounds like it."""

import pytest

from gshtui.providers.wire.provider_errors import ErrorOrigin, from_status, may_be_too_long
from gshtui.providers.wire.refusals import LearntWindows

WORDINGS = {
    "Ollama": (400, "prompt too long; exceeded max context length by 4 tokens"),
    "LM Studio": (400, "The number of tokens to keep from the initial prompt is greater than the context length."),
    "LM Studio, old": (
        400,
        "Trying to keep the first 5000 tokens. However, the model is loaded with context length of only 4096",
    ),
    "Groq": (400, "Please reduce the length of the messages or completion."),
    "Groq, at once": (413, "Request too large for model `x` on tokens per minute (TPM): Limit 6000, Requested 7000"),
    "xAI": (400, "This model's maximum prompt length is 131072 but the request contains 537812 tokens."),
    "Kimi": (400, "Invalid request: Your request exceeded model token limit: 262144"),
    "Bedrock": (400, "Input is too long for requested model."),
    "DeepSeek": (400, "This model's maximum context length is 65536 tokens. However, you requested 70000 tokens"),
    "Together": (422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000"),
    "Fireworks": (400, "The prompt is too long: 5000, model maximum context length: 4096"),
    "vLLM": (400, "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens"),
    "TGI": (422, "Input validation error: `inputs` must have less than 4095 tokens. Given: 5000"),
    "llama.cpp": (400, "the request exceeds the available context size, try increasing it"),
    "Mistral": (
        400,
        "Prompt contains 40000 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
    ),
    "OpenRouter": (
        400,
        "This endpoint's maximum context length is 32768 tokens. However, you requested about 40000 tokens",
    ),
    "Cohere": (400, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000."),
    "Azure": (400, "This model's maximum context length is 8192 tokens, however you requested 9000 tokens"),
    "GitHub": (413, "Request body too large for gpt-4o model. Max size: 8000 tokens."),
    "MiniMax": (400, "invalid params, context window exceeds limit"),
    "GLM": (400, "Prompt exceeds max length"),
    "Qwen": (400, "Range of input length should be [1, 30720]"),
    "SGLang": (400, "The input (5000 tokens) is longer than the model's context length (4096 tokens)."),
    "Gemini": (400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
    "Anthropic": (400, "prompt is too long: 210000 tokens > 200000 maximum"),
    "in a stream": (500, "Context size has been exceeded."),
}
OTHERS = {
    "rate": (429, "Rate limit reached: Limit 6000 tokens per minute, please reduce the length of your prompts"),
    "rate as wrong": (400, "Too many tokens per minute"),
    "key": (401, "token too long"),
    "output": (400, "max_tokens is too large: 100000. This model supports at most 4096 completion tokens"),
    "an id": (400, "Invalid 'messages[1].tool_calls[0].id': string too long. Expected a maximum length of 40"),
    "a parameter": (400, "Unsupported parameter: temperature"),
}


@pytest.mark.parametrize("server", WORDINGS)
def test_what_is_too_long_is_understood(server: str) -> None:
    status, message = WORDINGS[server]
    assert from_status(ErrorOrigin("x", model="m"), status, message=message).kind == "context"


@pytest.mark.parametrize("what", OTHERS)
def test_what_only_sounds_like_it_is_not(what: str) -> None:
    status, message = OTHERS[what]
    assert from_status(ErrorOrigin("x", model="m"), status, message=message).kind != "context"


def test_words_that_nobody_knows_are_a_suspicion() -> None:
    def refused(message: str, status: int = 400) -> bool:
        return may_be_too_long(from_status(ErrorOrigin("x", model="m"), status, message=message))

    assert refused("E1742: payload of 9000 tokens")
    assert refused("length violation", 422)
    assert not refused("Unsupported parameter: temperature")
    assert not refused("tokens", 401)


def test_a_learnt_window_is_known_at_the_next_start_while_nobody_knows_better() -> None:
    first = LearntWindows()
    assert first.window_of("own/m", known=False) == 0
    first.learn("own/m", 8_000)
    again = LearntWindows()
    assert again.window_of("own/m", known=False) == 8_000
    assert again.window_of("own/m", known=True) == 0
    assert again.window_of("other/m", known=False) == 0


def test_a_suspected_window_counts_until_it_was_not_that() -> None:
    windows = LearntWindows()
    windows.suspect("own/n", 4_000)
    assert windows.window_of("own/n", known=True) == 4_000
    windows.forget("own/n")
    assert LearntWindows().window_of("own/n", known=False) == windows.window_of("own/n", known=False) == 0
    windows.suspect("own/n", 5_000)
    windows.confirm("own/n")
    assert LearntWindows().window_of("own/n", known=False) == 5_000
