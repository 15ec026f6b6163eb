"""Sessions that outlive the configuration they began under: they go on undisturbed, and what they hold is given back."""
import signal
import socket
import threading
import unittest

from gateway import GatewayTest, wait_until


class UpgradeOrigin:
    """Answers each upgrade with 101 and its name, then echoes octets until the other side ends."""

    def __init__(self, name):
        self.name = name
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.node = "127.0.0.1:%d" % self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        while True:
            try:
                s, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(s,), daemon=True).start()

    def _serve(self, s):
        with s:
            head = b""
            while b"\r\n\r\n" not in head:
                part = s.recv(65536)
                if not part:
                    return
                head += part
            s.sendall(("HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nX-Origin: %s\r\n\r\n"
                       % self.name).encode())
            while True:
                part = s.recv(65536)
                if not part:
                    return
                s.sendall(part)

    def stop(self):
        self.listener.close()


class Session:
    """An upgraded connection through the gateway; `status` and `origin` say how that went."""

    def __init__(self, port, path="/ws"):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=15)
        self.socket.sendall(("GET %s HTTP/1.1\r\nHost: h.test\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
                             "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n" % path).encode())
        head = b""
        while b"\r\n\r\n" not in head:
            part = self.socket.recv(1)
            if not part:
                break
            head += part
        lines = head.decode().split("\r\n")
        self.status = int(lines[0].split(" ")[1])
        self.origin = next((l.split(": ")[1] for l in lines if l.startswith("X-Origin: ")), None)

    def echoes(self, text):
        self.socket.sendall(text)
        got = b""
        while len(got) < len(text):
            part = self.socket.recv(65536)
            if not part:
                return False
            got += part
        return got == text

    def has_ended(self):
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def close(self):
        self.socket.close()


class TunnelTest(GatewayTest):
    workers = 1

    def setUp(self):
        super().setUp()
        self.origins = [UpgradeOrigin("ws%d" % i) for i in range(3)]
        for origin in self.origins:
            self.addCleanup(origin.stop)
        self.sessions = []
        self.addCleanup(lambda: [s.close() for s in self.sessions])

    def open(self, path="/ws"):
        self.sessions.append(Session(self.gateway.ports["proxy"], path))
        return self.sessions[-1]

    def put(self, *origins, kind="roundrobin", **more):
        nodes = {o.node: 1 for o in origins}
        self.gateway.put("/routes/1", {"uri": "/ws", "enable_websocket": True,
                                       "upstream": {"type": kind, "nodes": nodes}, **more})


class Tunnels(TunnelTest):
    def test_an_open_session_stays_where_it_is_and_new_ones_follow_the_route(self):
        first, second, _ = self.origins
        self.put(first)
        old = self.open()
        self.assertEqual((old.status, old.origin), (101, "ws0"))
        self.put(second)
        self.assertTrue(old.echoes(b"after the change"))
        self.assertEqual(self.open().origin, "ws1")
        self.assertEqual(self.gateway.admin("PATCH", "/routes/1", {"status": 0}).status, 200)
        self.assertTrue(all(s.echoes(b"after the end of the route") for s in self.sessions))
        self.assertEqual(self.open().status, 404)
        self.assertEqual(self.gateway.admin("DELETE", "/routes/1").status, 200)
        worker = self.gateway.worker_pids()
        self.assertTrue(old.echoes(b"x" * 200000))
        for session in self.sessions:
            session.close()
        self.gateway.put("/routes/2", self.route("/plain"))
        self.assertEqual(self.gateway.proxy("/plain").status, 200)
        self.assertEqual(self.gateway.worker_pids(), worker)  # nobody died of it

    def test_places_of_sessions_are_given_back_though_their_route_has_changed(self):
        limit = {"limit-conn": {"conn": 2, "burst": 0, "default_conn_delay": 1, "key": "remote_addr", "rejected_code": 429}}
        self.put(self.origins[0], plugins=limit)
        held = [self.open(), self.open()]
        self.assertEqual([s.status for s in held], [101, 101])
        self.assertEqual(self.open().status, 429)
        self.put(self.origins[1], plugins=limit)
        self.assertEqual(self.open().status, 429)  # the same limiter, with the same places
        for session in held:
            session.close()
        wait_until(lambda: self.open().status == 101, 10, "a place is free again")
        again = self.open()
        self.assertEqual((again.status, again.origin), (101, "ws1"))
        self.assertEqual(self.open().status, 429)

    def test_least_conn_knows_the_sessions_after_its_nodes_have_changed(self):
        one, two, three = self.origins
        self.put(one, two, kind="least_conn")
        first = [self.open() for _ in range(6)]
        self.assertEqual(sorted(s.origin for s in first), ["ws0"] * 3 + ["ws1"] * 3)
        self.put(one, two, three, kind="least_conn")
        self.assertEqual([self.open().origin for _ in range(3)], ["ws2"] * 3)
        for session in first:
            if session.origin == "ws0":
                session.close()

        def goes_to_the_emptiest():
            # One at a time until the gateway has seen the ends of the sessions; a stray one is closed again.
            session = self.open()
            if session.origin == "ws0":
                return True
            session.close()
            return False

        wait_until(goes_to_the_emptiest, 10, "the emptiest node is chosen")
        self.assertEqual([self.open().origin for _ in range(2)], ["ws0"] * 2)


class Shutdown(TunnelTest):
    config = {"nginx_config": {"worker_shutdown_timeout": "2s"}}

    def test_a_draining_worker_lets_go_of_sessions_at_its_deadline_and_returns_their_places(self):
        limit = {"limit-conn": {"conn": 1, "burst": 0, "default_conn_delay": 1, "key": "remote_addr", "rejected_code": 429}}
        self.put(self.origins[0], plugins=limit)
        held = self.open()
        old = self.gateway.worker_pids()
        self.gateway.process.send_signal(signal.SIGHUP)
        wait_until(lambda: set(self.gateway.worker_pids()) - set(old), 20, "a new worker")
        self.assertTrue(held.echoes(b"after the reload"))
        self.assertEqual(self.open().status, 429)
        wait_until(lambda: not set(old) & set(self.gateway.worker_pids()), 15, "the old worker has ended")
        self.assertTrue(held.has_ended())
        wait_until(lambda: self.open().status == 101, 10, "its place is free")


del TunnelTest  # a base, not a test


if __name__ == "__main__":
    unittest.main()
