"""Recipes of recipes.py that judge the memory of a worker, and how a write scales with the number of routes."""
import contextlib
import http.client
import json
import re
import resource
import socket
import statistics
import threading
import time

from gateway import ADMIN_KEY, Gateway, Origin

GIB = 1 << 30


def resident_mib(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) / 1024


@contextlib.contextmanager
def running(options, workers, config=None, answer=None):
    origin = Origin("one", answer)
    gateway = Gateway(workers, config, binary=options.binary)
    try:
        gateway.start()
        yield gateway, origin
    finally:
        gateway.close()
        origin.stop()


def idle_clients(options, workers):
    """10,000 idle keep-alive clients: at most 60 MB resident in each worker."""
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    count = min(10000, hard - 500)
    config = {"nginx_config": {"event": {"worker_connections": 20000}, "http": {"keepalive_timeout": "600s"}}}
    with running(options, workers, config) as (gateway, origin):
        gateway.put("/routes/1", {"uri": "/*", "upstream": {"type": "roundrobin", "nodes": {origin.node: 1}}})
        before = [resident_mib(p) for p in gateway.worker_pids()]
        clients = []
        ask = b"GET /a?b=1 HTTP/1.1\r\nHost: h\r\nUser-Agent: idle/1.0\r\nAccept: */*\r\nCookie: session=0123456789abcdef\r\n\r\n"
        try:
            for _ in range(count):
                c = socket.create_connection(("127.0.0.1", gateway.ports["proxy"]), timeout=30)
                clients.append(c)
                c.sendall(ask)
                if not c.recv(4096).startswith(b"HTTP/1.1 200 "):
                    return False, "a client was not served"
            after = [resident_mib(p) for p in gateway.worker_pids()]
        finally:
            for c in clients:
                c.close()
        return max(after) <= 60, "%d clients: resident MiB per worker %s before, %s with all of them idle" % (
            count, "/".join("%.1f" % x for x in before), "/".join("%.1f" % x for x in after))


class Bulk:
    """An origin for one large body each way; reads or writes with raw sockets."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                c, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.one, args=(c,), daemon=True).start()
            del c

    def one(self, c):
        with c:
            self.serve(c)

    def serve(self, c):
        head = b""
        while b"\r\n\r\n" not in head:
            more = c.recv(65536)
            if not more:
                return
            head += more
        head, rest = head.split(b"\r\n\r\n", 1)
        length = re.search(rb"(?i)content-length: (\d+)", head)
        left = int(length.group(1)) - len(rest) if length else 0
        while left > 0:
            more = len(c.recv(1 << 18))
            if more == 0:
                return
            left -= more
        if head.startswith(b"GET"):
            c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % GIB)
            block = b"x" * (1 << 18)
            for _ in range(GIB // len(block)):
                c.sendall(block)
        else:
            c.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")


def large_bodies(options, workers):
    """1 GiB down and 1 GiB up: resident memory flat within 2 MB."""
    bulk = Bulk()
    with running(options, workers) as (gateway, _):
        gateway.put("/routes/1", {"uri": "/*", "upstream": {"type": "roundrobin", "nodes": {"127.0.0.1:%d" % bulk.port: 1}}})
        # Once each with a small body first: code and tables are resident then.
        before = [resident_mib(p) for p in gateway.worker_pids()]
        most, figures = 0.0, []

        def watch():
            return max(resident_mib(p) - b for p, b in zip(gateway.worker_pids(), before))

        for name in ("down", "up"):
            c = socket.create_connection(("127.0.0.1", gateway.ports["proxy"]), timeout=60)
            begun = time.monotonic()
            moved = 0
            if name == "down":
                c.sendall(b"GET /down HTTP/1.1\r\nHost: h\r\n\r\n")
                while moved < GIB:
                    got = len(c.recv(1 << 18))
                    if got == 0:
                        return False, "cut short at %d" % moved
                    moved += got
                    if moved % (64 << 20) < got:
                        most = max(most, watch())
            else:
                c.sendall(b"POST /up HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n" % GIB)
                block = b"x" * (1 << 18)
                while moved < GIB:
                    c.sendall(block)
                    moved += len(block)
                    if moved % (64 << 20) < len(block):
                        most = max(most, watch())
                if not c.recv(4096).startswith(b"HTTP/1.1 200 "):
                    return False, "the upload was not answered"
            c.close()
            figures.append("%s %.0f MiB/s" % (name, moved / (1 << 20) / (time.monotonic() - begun)))
    bulk.listener.close()
    return most <= 2.0, "%s; resident memory grew by at most %.2f MiB" % (", ".join(figures), most)


def many_routes(options, workers):
    """A write with 10,000 routes: in every worker within 50 ms, no slower than with 10; below 150 MB in each worker."""
    with running(options, workers) as (gateway, origin):
        connection = http.client.HTTPConnection("127.0.0.1", gateway.ports["admin"], timeout=30)

        def put(i, turn):
            body = json.dumps({"uri": "/api/v1/tenant%d/%s" % (i, turn), "hosts": ["t%d.example.com" % (i % 500)],
                               "upstream": {"type": "roundrobin", "nodes": {origin.node: 1}}})
            begun = time.monotonic()
            connection.request("PUT", "/apisix/admin/routes/%d" % i, body, {"X-API-KEY": ADMIN_KEY})
            answer = connection.getresponse()
            answer.read()
            assert answer.headers["X-Sluice-Applied"] == "%d/%d" % (workers, workers)
            return (time.monotonic() - begun) * 1000

        for i in range(10):
            put(i, "*")
        few = [put(i % 10, "few") for i in range(200)]
        for i in range(10, 10000):
            put(i, "*")
        many = [put(i * 97 % 10000, "many") for i in range(200)]
        connection.close()
        resident = [resident_mib(p) for p in gateway.worker_pids()]
        median = statistics.median
        good = max(many) < 50 and median(many) <= median(few) * 1.5 and max(resident) < 150
        return good, "PUT until in force, ms: 10 routes median %.2f most %.2f; 10,000 routes median %.2f most %.2f; resident %s MiB" % (
            median(few), max(few), median(many), max(many), "/".join("%.0f" % r for r in resident))


RECIPES = {"idle-clients": idle_clients, "large-bodies": large_bodies, "many-routes": many_routes}
