"""The real gateway under test: starts the binary with a prefix and ports of its own, speaks to it, kills parts of it.

Standard library only. A test makes a Gateway (and an Origin or two), talks through admin() and proxy(), and stops both
in tearDown; what a failed test needs for its autopsy (the error log) is printed then. Waiting is always for a
condition, with a limit (wait_until), never for a time. Processes are found by their parent, never by name alone.
"""
import copy
import http.client
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

ADMIN_KEY = "integration-test-admin-key-000001"
BINARY = os.environ.get("SLUICE_BINARY") or os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../build/release/sluice")


def wait_until(condition, seconds=15.0, what="condition"):
    """Calls `condition` until it returns something true, which is returned; AssertionError after `seconds`."""
    limit = time.monotonic() + seconds
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > limit:
            raise AssertionError("not within %.1f s: %s" % (seconds, what))
        time.sleep(0.005)


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    try:
        for s in sockets:
            s.bind(("127.0.0.1", 0))
        return [s.getsockname()[1] for s in sockets]
    finally:
        for s in sockets:
            s.close()


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = headers  # http.client.HTTPMessage: case-insensitive
        self.body = body

    def json(self):
        return json.loads(self.body)

    def __repr__(self):
        return "Answer(%d, %r)" % (self.status, self.body[:200])


def request(port, method, path, body=None, headers=None, timeout=10, connection=None):
    """One request; on a connection of its own unless one is given."""
    own = connection is None
    c = connection or http.client.HTTPConnection("127.0.0.1", port, timeout=timeout)
    try:
        c.request(method, path, body=body, headers=headers or {})
        r = c.getresponse()
        return Answer(r.status, r.headers, r.read())
    finally:
        if own:
            c.close()


class Origin:
    """A threaded HTTP origin that records what it is asked and answers with its name (or as `answer` says)."""

    def __init__(self, name="origin", answer=None, port=0):
        self.name = name
        self.requests = []  # (method, path, headers, body)
        self._lock = threading.Lock()
        origin = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True
            wbufsize = -1

            def serve(self):
                length = int(self.headers.get("Content-Length") or 0)
                body = self.rfile.read(length) if length else b""
                with origin._lock:
                    origin.requests.append((self.command, self.path, self.headers, body))
                status, headers, out = (answer or origin.plain)(self, body)
                self.send_response(status)
                for key, value in headers.items():
                    self.send_header(key, value)
                self.send_header("Content-Length", str(len(out)))
                self.end_headers()
                if self.command != "HEAD":
                    self.wfile.write(out)
                self.wfile.flush()

            do_GET = do_POST = do_PUT = do_DELETE = do_HEAD = do_PATCH = serve

            def log_message(self, *_):
                pass

        class Server(ThreadingHTTPServer):
            request_queue_size = 512
            daemon_threads = True

            def handle_error(self, *_):  # a killed gateway leaves broken connections behind
                pass

        self.server = Server(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self._thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
        self._thread.start()

    def plain(self, _handler, _body):
        return 200, {"Content-Type": "text/plain", "X-Origin": self.name}, self.name.encode()

    @property
    def node(self):
        return "127.0.0.1:%d" % self.port

    def count(self):
        with self._lock:
            return len(self.requests)

    def stop(self):
        self.server.shutdown()
        self.server.server_close()


def merge(base, extra):
    for key, value in extra.items():
        if isinstance(value, dict) and isinstance(base.get(key), dict):
            merge(base[key], value)
        else:
            base[key] = value
    return base


class Gateway:
    def __init__(self, workers=2, config=None, binary=BINARY):
        self.binary = os.path.abspath(binary)
        self.prefix = tempfile.mkdtemp(prefix="sluice-it-")
        # Closed to others, as mkdtemp makes it: the workers of a gateway started by root are somebody else.
        self.workers_wanted = workers
        self.extra = copy.deepcopy(config or {})
        self.ports = dict(zip(("proxy", "admin", "control", "status", "metrics"), free_ports(5)))
        self.config_file = os.path.join(self.prefix, "config.yaml")
        self.process = None
        self.output = os.path.join(self.prefix, "output.txt")
        self.write_config()

    # ---- life
    def write_config(self, extra=None):
        local = lambda name: {"ip": "127.0.0.1", "port": self.ports[name]}
        config = {
            "deployment": {
                "admin": {
                    "admin_listen": local("admin"),
                    "admin_key": [{"name": "admin", "key": ADMIN_KEY, "role": "admin"}],
                }
            },
            "apisix": {
                "node_listen": [local("proxy")],
                "enable_ipv6": False,
                "control": local("control"),
                "status": local("status"),
                "ssl": {"enable": False},
            },
            "nginx_config": {"error_log_level": "info"},
            "plugin_attr": {"prometheus": {"export_addr": local("metrics")}},
            "sluice": {"worker_processes": self.workers_wanted, "cpu_affinity": "off"},
        }
        merge(config, self.extra)
        merge(config, extra or {})
        with open(self.config_file, "w") as f:
            json.dump(config, f, indent=1)  # JSON is YAML

    def start(self, ready=True, before=None):
        """before: called in the child before the binary."""
        environment = dict(os.environ)
        environment.pop("ADMIN_KEY", None)
        with open(self.output, "ab") as out:
            self.process = subprocess.Popen([self.binary, "-c", self.config_file, "-p", self.prefix], stdout=out,
                                            stderr=out, stdin=subprocess.DEVNULL, env=environment, preexec_fn=before)
        if ready:
            self.wait_ready()
        return self

    def wait_ready(self, seconds=30):
        def ready():
            if self.process.poll() is not None:
                raise AssertionError("the gateway has ended with %s\n%s" % (self.process.returncode, self.log_tail()))
            try:
                return (request(self.ports["status"], "GET", "/status/ready", timeout=2).status == 200
                        and self.admin("GET", "/routes", timeout=2).status == 200)
            except OSError:
                return False
            except http.client.HTTPException:
                return False

        wait_until(ready, seconds, "the gateway is ready")

    def stop(self, how=signal.SIGTERM):
        if self.process and self.process.poll() is None:
            self.process.send_signal(how)
            try:
                self.process.wait(20)
            except subprocess.TimeoutExpired:
                self.kill_all()
        return self.process.returncode if self.process else None

    def close(self):
        self.stop()
        shutil.rmtree(self.prefix, ignore_errors=True)

    def log_tail(self, lines=60):
        text = ""
        for path in (self.output, os.path.join(self.prefix, "logs", "error.log")):
            try:
                with open(path, errors="replace") as f:
                    text += "---- %s\n%s" % (path, "".join(f.readlines()[-lines:]))
            except OSError:
                pass
        return text

    # ---- its processes
    def children(self):
        """pid -> title of the master's living children."""
        found = {}
        for entry in os.listdir("/proc"):
            if not entry.isdigit():
                continue
            try:
                with open("/proc/%s/stat" % entry) as f:
                    fields = f.read().rsplit(")", 1)[1].split()
                if int(fields[1]) != self.process.pid or fields[0] == "Z":
                    continue
                with open("/proc/%s/cmdline" % entry, "rb") as f:
                    found[int(entry)] = f.read().replace(b"\0", b" ").decode(errors="replace").strip()
            except (OSError, IndexError):
                continue
        return found

    def worker_pids(self):
        return sorted(pid for pid, title in self.children().items() if "worker" in title)

    def admin_pid(self):
        return next((pid for pid, title in self.children().items() if "admin" in title), None)

    def kill_all(self):
        """Everything at once, as a power cut would."""
        for pid in [self.process.pid] + list(self.children()):
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        self.process.wait()

    # ---- speaking to it
    def admin(self, method, path, body=None, timeout=10, headers=None):
        if body is not None and not isinstance(body, (bytes, str)):
            body = json.dumps(body)
        h = {"X-API-KEY": ADMIN_KEY}
        h.update(headers or {})
        return request(self.ports["admin"], method, "/apisix/admin" + path, body, h, timeout)

    def put(self, path, body):
        """A write that must succeed."""
        answer = self.admin("PUT", path, body)
        if answer.status not in (200, 201):
            raise AssertionError("PUT %s: %r" % (path, answer))
        return answer

    def proxy(self, path, method="GET", body=None, headers=None, timeout=10, connection=None):
        return request(self.ports["proxy"], method, path, body, headers, timeout, connection)

    def connection(self, timeout=10):
        return http.client.HTTPConnection("127.0.0.1", self.ports["proxy"], timeout=timeout)


class Load:
    """Threads that request one path over kept connections until stopped, and remember what went wrong."""

    def __init__(self, gateway, path, threads=4, expect=200):
        self.gateway, self.path, self.expect = gateway, path, expect
        self.done = 0
        self.failures = []
        self._stop = threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, daemon=True) for _ in range(threads)]
        for t in self._threads:
            t.start()

    def _run(self):
        connection = self.gateway.connection()
        while not self._stop.is_set():
            try:
                answer = self.gateway.proxy(self.path, connection=connection)
                problem = None if answer.status == self.expect else repr(answer)
            except (OSError, http.client.HTTPException) as e:
                problem = repr(e)
                connection.close()
                connection = self.gateway.connection()
            with self._lock:
                self.done += 1
                if problem:
                    self.failures.append(problem)
        connection.close()

    def wait_for(self, more):
        """Until `more` further requests have ended."""
        target = self.done + more
        wait_until(lambda: self.done >= target, 30, "%d more requests" % more)

    def stop(self):
        self._stop.set()
        for t in self._threads:
            t.join(20)
        return self.failures


class GatewayTest(unittest.TestCase):
    """A gateway and an origin per test; prints the error log when the test has failed."""

    workers = 2
    config = {}

    def setUp(self):
        self.origin = Origin("one")
        self.gateway = Gateway(self.workers, self.config)
        self.addCleanup(self._end)
        self.gateway.start()

    def _end(self):
        outcome = getattr(self, "_outcome", None)
        result = getattr(outcome, "result", None)
        bad = result and any(test is self for test, _ in result.failures + result.errors)
        if bad:
            sys.stderr.write(self.gateway.log_tail())
        self.gateway.close()
        self.origin.stop()

    def route(self, path, node=None, **more):
        return {"uri": path, "upstream": {"type": "roundrobin", "nodes": {node or self.origin.node: 1}}, **more}
