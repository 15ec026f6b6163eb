"""Limiters across workers: exact counts, places that come back, counters that outlive workers and reloads."""
import os
import select
import signal
import socket
import struct
import threading
import unittest

from gateway import GatewayTest, Origin, wait_until


class HoldingOrigin(Origin):
    """Answers at once, but keeps what asks for a path with "hold" until release() or until the asker hangs up."""

    def __init__(self):
        self._released = threading.Event()
        self.holding = set()   # targets that are being kept
        self.hung_up = set()
        super().__init__("holding", self.hold)

    def hold(self, handler, _body):
        if "hold" in handler.path:
            with self._lock:
                self.holding.add(handler.path)
            while not self._released.is_set():
                if select.select([handler.connection], [], [], 0.02)[0]:
                    try:
                        gone = not handler.connection.recv(1, socket.MSG_PEEK)
                    except OSError:
                        gone = True
                    if gone:
                        with self._lock:
                            self.hung_up.add(handler.path)
                        break
            with self._lock:
                self.holding.discard(handler.path)
        return self.plain(handler, b"")

    def release(self):
        self._released.set()


class Talker:
    """A raw connection: sends heads, reads answers one by one."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=15)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._rest = b""

    def send(self, target, headers=None, times=1, method="GET"):
        head = "%s %s HTTP/1.1\r\nHost: limits.test\r\n" % (method, target)
        head += "".join("%s: %s\r\n" % item for item in (headers or {}).items())
        self.socket.sendall((head + "\r\n").encode() * times)

    def answer(self):
        """(status, headers) of the next answer; None when the connection has ended."""
        try:
            while b"\r\n\r\n" not in self._rest:
                more = self.socket.recv(65536)
                if not more:
                    return None
                self._rest += more
            head, self._rest = self._rest.split(b"\r\n\r\n", 1)
            lines = head.decode("latin-1").split("\r\n")
            headers = {k.lower(): v.strip() for k, v in (line.split(":", 1) for line in lines[1:])}
            length = int(headers.get("content-length", 0))
            chunked = headers.get("transfer-encoding") == "chunked"
            while (b"0\r\n\r\n" not in self._rest) if chunked else (len(self._rest) < length):
                more = self.socket.recv(65536)
                if not more:
                    return None
                self._rest += more
            self._rest = self._rest.split(b"0\r\n\r\n", 1)[1] if chunked else self._rest[length:]
            return int(lines[0].split()[1]), headers
        except ConnectionError:
            return None

    def has_answer(self):
        return bool(self._rest or select.select([self.socket], [], [], 0)[0])

    def close(self):
        self.socket.close()

    def reset(self):
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()


class Limits(GatewayTest):
    def setUp(self):
        super().setUp()
        self.holder = HoldingOrigin()
        self.addCleanup(self.holder.stop)
        self.addCleanup(self.holder.release)
        self.talkers = []
        self.addCleanup(lambda: [t.close() for t in self.talkers])

    def limited(self, path="/limited", **plugins):
        return self.route(path, self.holder.node, plugins={name.replace("_", "-"): conf for name, conf in plugins.items()})

    def talk(self):
        talker = Talker(self.gateway.ports["proxy"])
        self.talkers.append(talker)
        return talker

    def released_at_once(self, connections, each, target, headers):
        """`each` requests on each of so many open connections, all sent before the first answer is read."""
        talkers = [Talker(self.gateway.ports["proxy"]) for _ in range(connections)]
        try:
            for talker in talkers:
                talker.send(target, headers, each)
            return [talker.answer() for talker in talkers for _ in range(each)]
        finally:
            for talker in talkers:
                talker.close()

    # ---- limit-count
    def test_a_quota_is_exact_over_all_workers(self):
        for kind in ("fixed", "sliding"):
            limit = {"count": 100, "time_window": 1000000, "window_type": kind, "key": "http_round", "rejected_code": 429}
            self.gateway.put("/routes/1", self.limited(limit_count=limit))
            for i in range(8):
                answers = self.released_at_once(50, 4, "/limited", {"Round": str(i)})
                statuses = [status for status, _ in answers]
                self.assertEqual((statuses.count(200), statuses.count(429)), (100, 100), kind)
                remaining = sorted(int(h["x-ratelimit-remaining"]) for status, h in answers if status == 200)
                self.assertEqual(remaining, list(range(100)), kind)

    def test_one_is_one_and_the_others_see_zero_left(self):
        limit = {"count": 1, "time_window": 60, "key": "http_round", "rejected_code": 429}
        self.gateway.put("/routes/1", self.limited(limit_count=limit))
        for i in range(20):
            answers = self.released_at_once(50, 1, "/limited", {"Round": str(i)})
            self.assertEqual(sorted(status for status, _ in answers), [200] + [429] * 49)
            self.assertEqual({h["x-ratelimit-remaining"] for _, h in answers}, {"0"})

    def test_a_burst_is_exact_over_all_workers(self):
        # So slow a rate that no second request is let through by time.
        limit = {"rate": 0.0001, "burst": 99, "key": "http_round", "rejected_code": 429, "nodelay": True}
        self.gateway.put("/routes/1", self.limited(limit_req=limit))
        for i in range(8):
            statuses = [status for status, _ in self.released_at_once(50, 4, "/limited", {"Round": str(i)})]
            self.assertEqual((statuses.count(200), statuses.count(429)), (100, 100))

    def test_a_consumer_has_one_limiter_on_all_routes(self):
        count = {"count": 4, "time_window": 600, "key": "consumer_name", "rejected_code": 429}
        rate = {"rate": 0.0001, "burst": 0, "key": "consumer_name", "rejected_code": 429}
        for name, limits in (("c1", {"limit-count": count}), ("c2", {"limit-count": count}), ("c3", {"limit-req": rate})):
            self.gateway.put("/consumers", {"username": name, "plugins": {"key-auth": {"key": "key-of-" + name}, **limits}})
        for i, path in enumerate(("/a", "/b", "/c")):
            self.gateway.put("/routes/%d" % i, self.route(path, plugins={"key-auth": {}}))

        def ask(who, *paths):
            return [self.gateway.proxy(path, headers={"apikey": "key-of-" + who}).status for path in paths]

        self.assertEqual(ask("c1", "/a", "/b", "/c", "/a", "/b"), [200, 200, 200, 200, 429])
        self.assertEqual(ask("c2", "/a", "/b"), [200, 200])
        self.assertEqual(ask("c3", "/a", "/b", "/c"), [200, 429, 429])

    def test_a_limiter_of_the_route_is_shared_by_all_consumers(self):
        self.gateway.put("/consumers", {"username": "c1", "plugins": {"key-auth": {"key": "k1"}}})
        self.gateway.put("/consumers", {"username": "c2", "plugins": {
            "key-auth": {"key": "k2"}, "response-rewrite": {"headers": {"X-Own": "plugins"}}}})
        limit = {"count": 3, "time_window": 600, "key": "all", "key_type": "constant", "rejected_code": 429}
        self.gateway.put("/routes/1", self.limited(key_auth={}, limit_count=limit))
        answers = [self.gateway.proxy("/limited", headers={"apikey": key}) for key in ("k1", "k2", "k1", "k2")]
        self.assertEqual([a.status for a in answers], [200, 200, 200, 429])
        self.assertEqual([a.headers["X-RateLimit-Remaining"] for a in answers], ["2", "1", "0", "0"])
        self.assertEqual(answers[1].headers["X-Own"], "plugins")

    def test_quota_fields_stay_when_a_later_plugin_refuses(self):
        self.gateway.put("/routes/1", self.limited(limit_count={"count": 9, "time_window": 600},
                                                   limit_req={"rate": 0.0001, "burst": 0, "key": "remote_addr"}))
        answers = [self.gateway.proxy("/limited") for _ in range(2)]
        self.assertEqual([a.status for a in answers], [200, 503])
        self.assertEqual([a.headers["X-RateLimit-Remaining"] for a in answers], ["8", "7"])

    # ---- limit-req
    def test_who_hangs_up_while_delayed_does_not_reach_the_origin(self):
        limit = {"rate": 0.001, "burst": 3, "key": "remote_addr"}   # the second would wait a quarter of an hour
        self.gateway.put("/routes/1", self.limited(limit_req=limit))
        self.gateway.put("/routes/2", self.route("/other", self.holder.node))
        self.assertEqual(self.gateway.proxy("/limited").status, 200)
        for leave in (Talker.close, Talker.reset):
            talker = self.talk()
            talker.send("/limited?left")
            wait_until(lambda: self.active() >= 1, what="the request is held back")
            leave(talker)
            wait_until(lambda: self.active() == 0, what="the gateway has let go of it")
        self.assertEqual(self.gateway.proxy("/other").status, 200)
        self.assertEqual([path for _, path, _, _ in self.holder.requests], ["/limited", "/other"])

    def active(self):
        """Client connections to the proxy port that the kernel knows as established on the gateway's side."""
        port = "%04X" % self.gateway.ports["proxy"]
        with open("/proc/net/tcp") as f:
            rows = [line.split() for line in f.readlines()[1:]]
        return sum(1 for r in rows if r[1].endswith(":" + port) and r[3] in ("01", "08"))

    # ---- limit-conn
    def hold(self, target):
        """Sends; True when the origin keeps it, else the status it was answered with."""
        talker = self.talk()
        talker.send(target)
        wait_until(lambda: target in self.holder.holding or talker.has_answer(), what="%s is kept or answered" % target)
        if target in self.holder.holding:
            return talker, True
        return talker, talker.answer()[0]

    def fill(self, targets):
        held = []
        for target in targets:
            talker, kept = self.hold(target)
            self.assertIs(kept, True, target)
            held.append(talker)
        return held

    def test_places_in_flight_are_exact_and_come_back_from_a_killed_worker(self):
        limit = {"conn": 16, "burst": 0, "default_conn_delay": 0.1, "key": "host", "rejected_code": 429}
        self.gateway.put("/routes/1", self.limited("/*", limit_conn=limit))
        held = self.fill("/hold/%d" % i for i in range(16))
        self.assertEqual(self.hold("/hold/more")[1], 429)
        broken = []
        for victim in self.gateway.worker_pids():
            os.kill(victim, signal.SIGKILL)
            # Waited for by the master: a dying process loses its name first and closes its connections later.
            wait_until(lambda: not os.path.exists("/proc/%d" % victim), what="the worker is gone")
            broken = [t for t in held if t.has_answer()]
            if broken:
                break
        self.assertTrue(broken)
        self.assertEqual([t.answer() for t in broken], [None] * len(broken))
        # As many come in as were lost, no more: the others are in flight still.
        taken = 0

        def one_more():
            nonlocal taken
            taken += self.hold("/hold/again/%d/%d" % (taken, len(self.talkers)))[1] is True
            return taken == len(broken)

        wait_until(one_more, 20, "the dead worker's places are free")
        for i in range(10):
            self.assertEqual(self.hold("/hold/beyond/%d" % i)[1], 429)
        self.holder.release()
        self.assertEqual([t.answer()[0] for t in held if t not in broken], [200] * (16 - len(broken)))
        wait_until(lambda: self.gateway.proxy("/quick").status == 200, what="places are free again")

    def test_every_ending_gives_the_place_back(self):
        limit = {"conn": 3, "burst": 0, "default_conn_delay": 0.1, "key": "remote_addr", "rejected_code": 429}
        self.gateway.put("/services/1", {"plugins": {"limit-conn": limit},
                                         "upstream": {"type": "roundrobin", "nodes": {self.holder.node: 1}}})
        silent = socket.socket()   # takes connections and never answers
        silent.bind(("127.0.0.1", 0))
        silent.listen(200)
        self.addCleanup(silent.close)
        closed = socket.socket()
        closed.bind(("127.0.0.1", 0))
        nowhere = "127.0.0.1:%d" % closed.getsockname()[1]
        closed.close()
        upstream = lambda node, **more: {"type": "roundrobin", "nodes": {node: 1}, **more}
        routes = {
            "/answered": {}, "/refused": {"plugins": {"limit-count": {"count": 1, "time_window": 600, "rejected_code": 418}}},
            "/unknown": {"plugins": {"key-auth": {}}}, "/redirected": {"plugins": {"redirect": {"uri": "/x", "ret_code": 302}}},
            "/aborted": {"plugins": {"fault-injection": {"abort": {"http_status": 410}}}},
            "/missing": {"upstream": upstream(nowhere)},
            "/late": {"upstream": upstream("127.0.0.1:%d" % silent.getsockname()[1], retries=0,
                                           timeout={"connect": 1, "send": 1, "read": 0.05})},
        }
        for i, (path, more) in enumerate(routes.items()):
            self.gateway.put("/routes/%d" % i, {"uri": path, "service_id": "1", **more})
        wanted = {"/answered": 200, "/refused": 418, "/unknown": 401, "/redirected": 302, "/aborted": 410,
                  "/missing": 502, "/late": 504}
        self.assertEqual(self.gateway.proxy("/refused").status, 200)
        for _ in range(12):
            for path, status in wanted.items():
                self.assertEqual(self.gateway.proxy(path).status, status, path)
            self.assertEqual(self.gateway.proxy("/answered", "HEAD").status, 200)
        held = self.fill("/answered?hold=%d" % i for i in range(3))
        self.assertEqual(self.gateway.proxy("/answered").status, 429)
        self.holder.release()
        self.assertEqual([t.answer()[0] for t in held], [200] * 3)

    def test_who_hangs_up_gives_the_place_back_and_ends_the_work_upstream(self):
        limit = {"conn": 2, "burst": 0, "default_conn_delay": 0.1, "key": "remote_addr", "rejected_code": 429}
        self.gateway.put("/routes/1", self.limited("/*", limit_conn=limit))
        one, two = self.fill(["/hold/fin", "/hold/rst"])
        self.assertEqual(self.gateway.proxy("/quick").status, 429)
        one.close()
        two.reset()
        wait_until(lambda: self.holder.hung_up == {"/hold/fin", "/hold/rst"}, 5, "the origin sees both hang up")
        wait_until(lambda: self.gateway.proxy("/quick").status == 200, 5, "the places are free")
        self.assertEqual([self.gateway.proxy("/quick").status for _ in range(4)], [200] * 4)
        log = os.path.join(self.gateway.prefix, "logs", "access.log")

        def logged():
            with open(log, errors="replace") as f:
                lines = f.read().splitlines()
            return [line.split('"')[2].split()[0] for line in lines if "/hold/" in line]

        self.assertEqual(wait_until(lambda: len(logged()) == 2 and logged(), 10, "both are in the access log"), ["499"] * 2)

    # ---- reload
    def test_counts_and_places_survive_a_reload(self):
        self.gateway.put("/routes/1", self.limited(
            "/counted", limit_count={"count": 3, "time_window": 1000000, "window_type": "sliding", "rejected_code": 429}))
        self.gateway.put("/routes/2", self.limited(
            "/paced", limit_req={"rate": 0.0001, "burst": 2, "key": "uri", "nodelay": True, "rejected_code": 429}))
        self.gateway.put("/routes/3", self.limited(
            "/places/*", limit_conn={"conn": 2, "burst": 0, "default_conn_delay": 1, "key": "host", "rejected_code": 429}))
        for path in ("/counted", "/paced"):
            self.assertEqual([self.gateway.proxy(path).status for _ in range(2)], [200, 200])
        held = self.fill(["/places/hold/1", "/places/hold/2"])
        before = set(self.gateway.worker_pids())
        self.gateway.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(set(self.gateway.worker_pids()) - before) == 2, 20, "new workers")
        self.gateway.wait_ready()
        for path in ("/counted", "/paced"):
            self.assertEqual([self.gateway.proxy(path).status for _ in range(2)], [200, 429], path)
        # The old workers still hold two.
        self.assertEqual(self.hold("/places/hold/3")[1], 429)
        self.holder.release()
        self.assertEqual([t.answer()[0] for t in held], [200, 200])
        wait_until(lambda: self.gateway.proxy("/places/quick").status == 200, 10, "the old workers' places are free")


if __name__ == "__main__":
    unittest.main()
