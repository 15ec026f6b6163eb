"""The store under the real binary: entries that are broken, and secrets that many updates have passed over."""
import contextlib
import json
import os
import signal
import sqlite3
import subprocess
import unittest

from gateway import Gateway, GatewayTest, Origin, wait_until


class StoreTest(GatewayTest):
    def store_file(self):
        for folder, _, files in os.walk(self.gateway.prefix):
            if "config.db" in files:
                return os.path.join(folder, "config.db")
        raise AssertionError("no store below the prefix")

    def edit(self, *statements):
        """Behind the gateway's back."""
        db = sqlite3.connect(self.store_file(), timeout=10)
        with db:
            for statement in statements:
                db.execute(*statement)
        db.close()

    def log(self):
        with open(os.path.join(self.gateway.prefix, "logs", "error.log"), errors="replace") as f:
            return f.read()


class BrokenEntries(StoreTest):
    def setUp(self):
        super().setUp()
        self.gateway.put("/upstreams/u", {"type": "roundrobin", "nodes": {self.origin.node: 1}})
        self.gateway.put("/routes/text", self.route("/text"))
        self.gateway.put("/routes/shape", self.route("/shape"))
        self.gateway.put("/routes/plugin", self.route("/plugin"))
        self.gateway.put("/routes/good", {"uri": "/good", "upstream_id": "u"})

    BROKEN = {"text": b'{"uri":', "shape": b'{"uri":5,"id":"shape"}',
              "plugin": b'{"uri":"/plugin","plugins":{"key-auth":5},"upstream_id":"u"}'}

    def break_them(self):
        self.edit(*(("UPDATE objects SET value=? WHERE key=?", (value.decode(), "routes/" + name))
                    for name, value in self.BROKEN.items()))

    def statuses(self, *names):
        return {name: {self.gateway.proxy("/" + name).status for _ in range(10)} for name in names}

    def test_workers_that_run_keep_the_last_good_versions_and_the_log_names_the_keys(self):
        self.break_them()
        self.edit(("UPDATE objects SET value=? WHERE key=?", ("\x01garbage", "upstreams/u")))
        victim = self.gateway.admin_pid()
        os.kill(victim, signal.SIGKILL)  # its successor reads everything anew
        wait_until(lambda: self.gateway.admin_pid() not in (None, victim), what="a new admin process")
        self.gateway.wait_ready()
        # A write that all workers have: the new state has reached them before.
        self.assertEqual(self.gateway.put("/routes/new", self.route("/new")).headers["X-Sluice-Applied"], "2/2")
        names = ("text", "shape", "plugin", "good", "new")
        self.assertEqual(self.statuses(*names), {name: {200} for name in names})
        log = self.log()
        for key in ("routes/text", "routes/shape", "routes/plugin", "upstreams/u"):
            self.assertIn(key, log)
        # What is broken can be mended, or removed, through the Admin API.
        self.gateway.put("/routes/text", self.route("/mended"))
        self.assertEqual(self.statuses("text", "mended"), {"text": {404}, "mended": {200}})

    def test_after_a_fresh_start_only_what_is_broken_is_missing(self):
        self.gateway.stop()
        self.break_them()
        self.gateway.start()
        self.assertEqual(self.gateway.proxy("/good").status, 200)
        got = self.statuses(*self.BROKEN)
        for name, statuses in got.items():
            self.assertNotIn(200, statuses, name)
        for name in self.BROKEN:
            self.assertIn("routes/" + name, self.log())
            self.gateway.put("/routes/" + name, self.route("/" + name))
        self.assertEqual(self.statuses(*self.BROKEN), {name: {200} for name in self.BROKEN})


class Secrets(StoreTest):
    KEY, CSRF, VAULT = "a-key-that-nobody-reads", "a-csrf-secret-0123", "a-token-of-the-vault"

    def raw(self):
        self.gateway.stop()
        octets = b""
        folder = os.path.dirname(self.store_file())
        for name in os.listdir(folder):
            if name.startswith("config.db"):
                with open(os.path.join(folder, name), "rb") as f:
                    octets += f.read()
        self.gateway.start()
        return octets

    def test_they_work_after_any_number_of_updates_and_never_lie_open(self):
        self.gateway.put("/consumers", {"username": "jack", "plugins": {"key-auth": {"key": self.KEY}}})
        self.gateway.put("/consumers", {"username": "joe"})
        self.gateway.put("/consumers/joe/credentials/c", {"plugins": {"key-auth": {"key": self.KEY + "-2"}}})
        self.gateway.put("/routes/1", self.route("/a", plugins={"key-auth": {}, "csrf": {"key": self.CSRF}}))
        self.gateway.put("/secrets/vault/1", {"uri": "http://127.0.0.1:1", "prefix": "kv", "token": self.VAULT})
        for i in range(5):
            for path, patch in (("/routes/1", {"labels": {"n": str(i)}}), ("/secrets/vault/1", {"prefix": "kv%d" % i}),
                                ("/routes/1", {"plugins": {"csrf": {"expires": 60 + i}}})):
                self.assertEqual(self.gateway.admin("PATCH", path, patch).status, 200, path)
            for path, bad in (("/routes/1", {"uri": 5}), ("/consumers", {"username": "jack", "plugins": {"key-auth": {}}})):
                self.assertEqual(self.gateway.admin("PUT", path, bad).status, 400, path)
        for _ in range(2):
            for key in (self.KEY, self.KEY + "-2"):
                answer = self.gateway.proxy("/a", headers={"apikey": key})
                self.assertEqual(answer.status, 200)
            token = answer.headers["Set-Cookie"].split(";")[0]
            self.assertEqual(self.gateway.proxy("/a", "POST", b"x", headers={
                "apikey": self.KEY, "Cookie": token, "apisix-csrf-token": token.split("=", 1)[1]}).status, 200)
            value = lambda path: json.dumps(self.gateway.admin("GET", path).json()["value"])
            self.assertIn(self.KEY, value("/consumers/jack"))
            self.assertIn(self.KEY + "-2", value("/consumers/joe/credentials/c"))
            self.assertIn(self.CSRF, value("/routes/1"))
            self.assertIn(self.VAULT, value("/secrets/vault/1"))
            stored = self.raw()  # and again after the restart
            for secret in (self.KEY, self.CSRF, self.VAULT):
                self.assertNotIn(secret.encode(), stored)
        self.assertNotIn(self.KEY, self.log())


del StoreTest  # a base, not a test


@unittest.skipUnless(os.geteuid() == 0, "a small file system can be mounted by root alone")
class FullDisk(unittest.TestCase):
    def setUp(self):
        self.origin = Origin("one")
        self.addCleanup(self.origin.stop)
        self.gateway = Gateway(1)
        self.addCleanup(self.gateway.close)
        self.data = os.path.join(self.gateway.prefix, "data")
        os.mkdir(self.data)
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400k", "tmpfs", self.data], stderr=subprocess.DEVNULL).returncode:
            self.skipTest("mount is not allowed here")
        self.addCleanup(lambda: subprocess.run(["umount", "-l", self.data]))
        self.gateway.start()

    def put(self, i):
        return self.gateway.admin("PUT", "/routes/%d" % i, {"uri": "/%d" % i, "desc": "d" * 200, "upstream": {
            "type": "roundrobin", "nodes": {self.origin.node: 1}}}).status

    def test_writes_are_refused_traffic_goes_on_and_nothing_acknowledged_is_lost(self):
        acknowledged = 0
        while self.put(acknowledged) == 201:
            acknowledged += 1
        self.assertEqual([self.put(1000 + i) for i in range(3)], [503] * 3)
        self.assertEqual(self.gateway.proxy("/0").status, 200)
        # Started anew with no room at all: what is there is served.
        self.gateway.stop()
        with open(os.path.join(self.data, "filler"), "wb", buffering=0) as f, contextlib.suppress(OSError):
            while True:
                f.write(b"x" * 4096)
        self.gateway.start()
        self.assertEqual([self.gateway.proxy("/%d" % i).status for i in range(acknowledged)], [200] * acknowledged)
        self.assertEqual(self.put(2000), 503)
        # Room again: it recovers by itself.
        os.remove(os.path.join(self.data, "filler"))
        subprocess.run(["mount", "-o", "remount,size=4m", self.data], check=True)
        self.assertEqual(self.put(2000), 201)
        self.assertEqual(self.gateway.proxy("/2000").status, 200)


if __name__ == "__main__":
    unittest.main()
