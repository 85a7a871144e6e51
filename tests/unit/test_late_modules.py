"""OpenSSL is loaded by who speaks TLS, not by `asyncio`, and then all of it is there. In processes of their own."""

from __future__ import annotations

import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

BEFORE = """
from gshtui.system import late_modules
late_modules.put_off_tls()
import asyncio, hashlib, sys
import http.client
from asyncio import selector_events

def loaded(): return "_ssl" in sys.modules or "_hashlib" in sys.modules and sys.modules["_hashlib"] is not None
"""

PLAIN = """
async def main():
    async def serve(reader, writer):
        writer.write(await reader.readline())
        writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    reader, writer = await asyncio.open_connection("127.0.0.1", server.sockets[0].getsockname()[1])
    writer.write(b"over TCP\\n")
    print((await reader.readline()).decode().strip())
    writer.close()
    server.close()

asyncio.run(main())
print(hashlib.sha256(b"x").hexdigest()[:8], loaded())
"""

TLS = """
async def main(certificate):
    import ssl
    for_server = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    for_server.load_cert_chain(certificate)
    for_client = ssl.create_default_context(cafile=certificate)
    async def serve(reader, writer):
        writer.write(await reader.readline())
        writer.close()
    server = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=for_server)
    port = server.sockets[0].getsockname()[1]
    reader, writer = await asyncio.open_connection("127.0.0.1", port, ssl=for_client, server_hostname="localhost")
    writer.write(b"over TLS\\n")
    print((await reader.readline()).decode().strip())
    writer.close()
    server.close()
    class Own(ssl.SSLSocket):
        pass
    print(Own.__mro__[1].__module__, isinstance(object(), asyncio.base_events.ssl.SSLSocket))

asyncio.run(main(sys.argv[1]))
print(hashlib.pbkdf2_hmac("sha256", b"x", b"y", 1).hex()[:8], loaded())
"""

THREADS = """
import threading
found = []
together = threading.Barrier(8)
def use():
    together.wait()
    found.append(asyncio.base_events.ssl.SSLContext)
threads = [threading.Thread(target=use) for _ in range(8)]
for thread in threads: thread.start()
for thread in threads: thread.join()
print(len(set(found)), len(found))
"""

CHECKED = """
late = asyncio.base_events.ssl.SSLSocket
print(isinstance(object(), late), loaded())
class Own(late):
    pass
import ssl
print(Own.__mro__[1] is ssl.SSLSocket, loaded())
"""


def run(program: str, *arguments: str) -> list[str]:
    """The lines that it prints."""
    done = subprocess.run(
        [sys.executable, "-c", BEFORE + program, *arguments], capture_output=True, text=True, timeout=30, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def certificate(folder: Path) -> Path:
    """A key and its certificate for `localhost`."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    signed = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    path = folder / "localhost.pem"
    path.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, *private) + signed.public_bytes(serialization.Encoding.PEM)
    )
    return path


def test_a_connection_without_tls_loads_no_openssl() -> None:
    assert run(PLAIN) == ["over TCP", "2d711642 False"]


def test_a_connection_with_tls_loads_it_and_all_its_hashes(tmp_path: Path) -> None:
    lines = run(TLS, str(certificate(tmp_path)))
    assert lines[:2] == ["over TLS", "ssl False"]
    assert lines[2].endswith("True")


def test_the_stand_in_of_tls_sockets_is_their_class_to_who_needs_it() -> None:
    assert run(CHECKED) == ["False False", "True True"]


def test_threads_that_need_it_at_once_get_the_same() -> None:
    assert run(THREADS) == ["1 8"]
