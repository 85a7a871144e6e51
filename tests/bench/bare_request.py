"""The floor of a question at the prompt: bare Python, the provider's SDK, one request whose answer is streamed."""

import sys

import anthropic

MODEL = "claude-opus-4-8"


def main() -> None:
    """Print the answer as it comes."""
    client = anthropic.Anthropic(max_retries=0)
    said: list[anthropic.types.MessageParam] = [{"role": "user", "content": [{"type": "text", "text": "what failed?"}]}]
    with client.messages.create(model=MODEL, max_tokens=1000, messages=said, stream=True) as stream:
        for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "text_delta":
                sys.stdout.write(event.delta.text)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
