"""A server on loopback that answers every request with the same bytes, for what goes wrong."""

import asyncio
import ssl
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

EVENT_STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n"
PAGE = "<!DOCTYPE html><html><head><title>Sorry</title></head><body><p>Come back</p></body></html>"


def refusal(status: int, body: str, mime: str = "application/json", **headers: str) -> bytes:
    """Return a whole answer; an underscore in a header's name stands for a hyphen."""
    lines = [f"HTTP/1.1 {status} Scripted", f"content-type: {mime}", f"content-length: {len(body)}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", body]).encode()


@asynccontextmanager
async def answering(answer: bytes, tls: ssl.SSLContext | None = None) -> AsyncGenerator[str]:
    """Serve, and yield the address; the connection is closed behind each answer."""
    served: set[asyncio.Task[None]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head = await reader.readuntil(b"\r\n\r\n")
            lengths = [
                line.partition(b":")[2]
                for line in head.lower().split(b"\r\n")
                if line.startswith(b"content-length")
            ]
            await reader.readexactly(int(lengths[0]))
            writer.write(answer)
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    def connected(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.ensure_future(serve(reader, writer))
        served.add(task)
        task.add_done_callback(served.discard)

    server = await asyncio.start_server(connected, "127.0.0.1", 0, ssl=tls)
    port = server.sockets[0].getsockname()[1]
    try:
        yield f"{'https' if tls else 'http'}://127.0.0.1:{port}"
    finally:
        server.close()
        for task in served:
            task.cancel()
        await asyncio.gather(*served, return_exceptions=True)
        await server.wait_closed()


def untrusted(folder: Path) -> ssl.SSLContext:
    """Return a server's context with a certificate that nobody has signed."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    asked = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2"]
    name = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1"]
    written = ["-keyout", str(key), "-out", str(certificate)]
    subprocess.run([*asked, *name, *written], check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    return context
