"""One file of the web, as a person's command asks for it: within a time, up to a size, by the environment's proxies."""

from __future__ import annotations

from gshtui.system.expected_error import ExpectedError
from gshtui.system.processes.time_limit import time_limit


class DownloadError(ExpectedError):
    """It was not fetched. `status`: what the server answered; 0: nothing that could be read."""

    def __init__(self, message: str, status: int = 0) -> None:
        super().__init__(message)
        self.status = status


async def download(address: str, *, largest: int, within: float, shown: str) -> bytes:
    """The bytes at this address. Raises `DownloadError`. `shown`: the address for people, without what could harm a
    terminal.
    """
    import httpx2  # nothing is fetched unasked

    from gshtui.system.network.routed_transport import RoutedTransport

    data = bytearray()
    try:
        async with (
            time_limit(within),
            httpx2.AsyncClient(follow_redirects=True, timeout=within, transport=RoutedTransport()) as client,
            client.stream("GET", address) as answer,
        ):
            if answer.status_code != 200:
                raise DownloadError(f"{shown} answered {answer.status_code}.", answer.status_code)
            async for piece in answer.aiter_bytes():
                data += piece
                if len(data) > largest:
                    raise DownloadError(f"{shown} is larger than {largest // 1_000_000} MB.", answer.status_code)
    except TimeoutError as error:
        raise DownloadError(f"{shown} did not answer within {within:g} s.") from error
    except DownloadError:
        raise
    except (httpx2.HTTPError, httpx2.InvalidURL, OSError, ValueError, ExpectedError) as error:
        why = error.message if isinstance(error, ExpectedError) else " ".join(str(error).split())[:200]
        raise DownloadError(f"{shown} cannot be reached: {why}.") from error
    return bytes(data)
