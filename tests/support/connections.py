"""Connections for tests: a served store, requests as bytes, answers as they come by the socket."""

import re
import socket
import threading
from contextlib import contextmanager
from itertools import pairwise

import uvicorn
import uvloop

from faults.world import free_port
from goalbound.serve.service.app import Service
from tests.support.stores import until

STEPS, BATCH = "/v1/learners/incidents/cases/a/steps", "/v1/learners/incidents/steps:batch"
STEP = b'{"step":%d,"loss":0.1,"next_state":"degraded"}'


@contextmanager
def served(store, http, *, limits=None):
    """A port where a service around a store answers, by this kind of connection; and the server."""
    port = free_port()
    service = Service(store, limits=limits)
    server = uvicorn.Server(
        uvicorn.Config(service, port=port, http=http, log_level="error", lifespan="off", date_header=False,
                       server_header=False, access_log=False)
    )  # fmt: skip
    thread = threading.Thread(target=uvloop.run, args=(server._serve(),), daemon=True)
    thread.start()
    until(lambda: server.started)
    try:
        yield port, server
    finally:
        server.should_exit = True
        thread.join(20)
        assert not thread.is_alive()


def request(path, body, *, headers=b"content-type: application/json\r\n", method=b"POST", version=b"1.1"):
    head = b"%s %s HTTP/%s\r\nhost: localhost\r\n%scontent-length: %d\r\n\r\n"
    return head % (method, path.encode(), version, headers, len(body)) + body


def talk(port, *parts, answers):
    """Send the parts one by one, and read so many answers; "closed" where the server ends the connection after."""
    with socket.create_connection(("127.0.0.1", port), timeout=20) as connection:
        for before, part in pairwise((None, *parts)):
            if before is not None:
                threading.Event().wait(0.05)  # so that it comes by itself
            connection.sendall(part)
        found = read(connection, answers)
        connection.settimeout(0.05)
        try:
            found.append("closed" if connection.recv(1) == b"" else "more")
        except TimeoutError:
            found.append("open")
        return found


def read(connection, answers):
    data, found = b"", []
    while len(found) < answers:
        head, there, rest = data.partition(b"\r\n\r\n")
        length = int(re.search(rb"content-length: (\d+)", head)[1]) if there else 0
        if not there or len(rest) < length:
            more = connection.recv(65536)
            assert more, (found, data)
            data += more
            continue
        status, *headers = head.split(b"\r\n")
        headers = sorted(re.sub(rb"(x-request-id: ).*", rb"\1-", line) for line in headers)
        found.append((status, headers, re.sub(rb'"request_id":"[^"]*"', b"", rest[:length])))
        data = rest[length:]
    assert data == b"", data
    return found


@contextmanager
def writer_busy(store):
    """While this lasts the writer works on something else; what is given sets it free before."""
    blocked, release = threading.Event(), threading.Event()

    def block(engine):
        blocked.set()
        release.wait(20)

    thread = threading.Thread(target=lambda: store.writer.call(block))
    thread.start()
    assert blocked.wait(20)
    try:
        yield release.set
    finally:
        release.set()
        thread.join(20)
