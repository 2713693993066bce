"""Requests that are meant to take memory or to confuse: each is refused, and the memory stays."""

from __future__ import annotations

import json
import socket
from pathlib import Path

from faults.result import Result
from faults.world import CONTEXT, NAME, free_port, megabytes, new_store, served
from goalbound.errors import GoalboundError
from goalbound.serve.service.tokens import Tokens
from goalbound.serve.store.replay import verify

MOST_MEGABYTES = 50
_DEEP = 30_000
_STEP = b'{"step":1,"loss":0.25,"next_state":0}'


def bodies() -> dict[str, bytes]:
    """Bodies that no step has; all fit into 64 KiB."""
    return {
        "deep lists": b"[" * _DEEP + b"]" * _DEEP,
        "deep objects": b'{"a":' * (_DEEP // 3) + b"1" + b"}" * (_DEEP // 3),
        "deep context": b'{"state":0,"context":' + b"[" * _DEEP + b"]" * _DEEP + b"}",
        "NaN": b'{"step":1,"loss":NaN,"next_state":0}',
        "infinity": b'{"step":1,"loss":1e999,"next_state":0}',
        "a large loss": b'{"step":1,"loss":1e308,"next_state":0}',
        "a long number": b'{"step":1,"loss":' + b"9" * 60_000 + b',"next_state":0}',
        "a long step": b'{"step":' + b"9" * 4_000 + b',"loss":0.5,"next_state":0}',
        "a lone surrogate": b'{"step":1,"loss":0.5,"next_state":"\\ud800"}',
        "no UTF-8": b'{"step":1,"loss":0.5,"next_state":"\xff\xfe"}',
        "a name of 60,000 letters": b'{"step":1,"loss":0.5,"next_state":"' + b"a" * 60_000 + b'"}',
        "many keys": b"{" + b",".join(b'"k%d":1' % number for number in range(5000)) + b"}",
        "the same key often": b"{" + b",".join([b'"step":1'] * 5000) + b"}",
        "many allowed actions": json.dumps({"step": 1, "next_state": 0, "allowed": list(range(12_000))}).encode(),
        "nothing": b"",
        "a zero byte": b"\0" * 100,
    }


def bombs(folder: Path, *, times: int) -> Result:
    """All of them, often: answers are 4xx, or the connection is closed; the memory grows by 50 MB at most."""
    result = Result("body bombs")
    store, port = folder / "store", free_port()
    with new_store(store) as opened:
        opened.learner(NAME).begin(CONTEXT, 0, id="a")
    token = Tokens(store).create(["cases:write"])
    with served(store, port) as process:
        _ask(port, "POST", f"/v1/learners/{NAME}/cases/a/steps", _STEP, token=token)
        before = megabytes(process.pid)
        for _ in range(times):
            for name, status in _all(port, token):
                result.add("requests")
                fine = status is None or 400 <= status < 500
                result.check(fine, f"{name} was answered with {status}")
        grown = megabytes(process.pid, peak=True) - before
        again = _ask(port, "POST", f"/v1/learners/{NAME}/cases/a/steps", _STEP, token=token)
        result.check(again == 200, f"an honest request was answered with {again} afterwards")
        process.terminate()
        process.wait(60)
    result.counts["MB more, at most"] = round(grown, 1)
    result.check(grown <= MOST_MEGABYTES, f"the memory grew by {grown:.0f} MB")
    try:
        result.counts["events replayed"] = verify(store).replayed
    except GoalboundError as error:
        result.check(False, f"the store: {error}")
    return result


def _all(port: int, token: str) -> list[tuple[str, int | None]]:
    steps, cases = f"/v1/learners/{NAME}/cases/a/steps", f"/v1/learners/{NAME}/cases"
    found = []
    for name, body in bodies().items():
        for path in (steps, cases, f"/v1/learners/{NAME}/steps:batch"):
            found.append((name, _ask(port, "POST", path, body, token=token)))
    large = 8 * 2**20
    found.append(("8 MB", _ask(port, "POST", steps, b" " * large, token=token)))
    found.append(("8 MB in chunks", _chunked(port, steps, large, token)))
    found.append(("a length that lies", _ask(port, "POST", steps, b"{}", length=2**60, token=token)))
    # Without the scope of it, not a byte of a learner's file is kept.
    found.append(
        ("64 MB without scope", _ask(port, "POST", "/v1/learners?name=x", b"0" * large, length=2**26, token=token))
    )
    found.append(("a long path", _ask(port, "GET", "/v1/learners/" + "a" * 60_000, b"", token=token)))
    found.append(("a large header", _ask(port, "GET", "/v1/learners", b"", token=token, extra="x: " + "a" * 300_000)))
    get, many = b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n", b"x: %s\r\n" % (b"a" * 1000) * 64
    found.append(("8 MB of headers", _exchange(port, get, [many] * (large // len(many)))))
    found.append(("a header of 8 MB", _exchange(port, get + b"x: ", [b"a" * 65_536] * (large // 65_536))))
    found.append(("an address of 8 MB", _exchange(port, b"GET /", [b"a" * 65_536] * (large // 65_536))))
    body = b"%x\r\n%s\r\n0\r\n" % (len(_STEP), _STEP)
    after = _exchange(port, _chunked_head(steps, token), [body, *[many] * (large // len(many))])
    found.append(("8 MB of headers after a body", after))
    for id in ("..", "%2e%2e", "a%00b", "a/b", "a b", "\u00e4".encode("latin-1").decode("latin-1"), "a" * 65):
        path = f"/v1/learners/{NAME}/cases/{id}/steps"
        found.append((f"the id {id[:10]!r}", _ask(port, "POST", path, _STEP, token=token)))
    return found


def _ask(
    port: int, method: str, path: str, body: bytes, *, token: str, length: int | None = None, extra: str = ""
) -> int | None:
    """The status of the answer; None: the connection was closed."""
    head = f"{method} {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n"
    head += "content-type: " + ("application/octet-stream" if "name=x" in path else "application/json")
    head += f"\r\nconnection: close\r\ncontent-length: {len(body) if length is None else length}\r\n"
    return _exchange(port, head.encode("latin-1") + (f"{extra}\r\n" if extra else "").encode() + b"\r\n", [body])


def _chunked_head(path: str, token: str) -> bytes:
    head = f"POST {path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\nconnection: close\r\n"
    return f"{head}content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n".encode()


def _chunked(port: int, path: str, size: int, token: str) -> int | None:
    piece = b"%x\r\n" % 65_536 + b" " * 65_536 + b"\r\n"
    return _exchange(port, _chunked_head(path, token), [*[piece] * (size // 65_536), b"0\r\n\r\n"])


def _exchange(port: int, head: bytes, parts: list[bytes]) -> int | None:
    with socket.create_connection(("127.0.0.1", port), timeout=30) as connection:
        try:
            for part in (head, *parts):
                connection.sendall(part)
        except OSError:
            pass  # it was refused before it was all sent; the answer may be there
        try:
            answer = connection.recv(65_536)
        except OSError:
            return None
    return int(answer.split()[1]) if answer.startswith(b"HTTP/") else None
