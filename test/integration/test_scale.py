"""Many routes, and more clients than there are descriptors."""
import http.client
import json
import os
import re
import resource
import socket
import statistics
import time
import unittest

from gateway import ADMIN_KEY, Gateway, GatewayTest, Origin, request, wait_until

MANY = 10000


def resident_mib(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1)) / 1024


class ManyRoutes(GatewayTest):
    def put(self, connection, i, answer_path):
        body = json.dumps(self.route("/api/v1/tenant%d/%s" % (i, answer_path), hosts=["t%d.example.com" % (i % 500)]))
        begun = time.monotonic()
        connection.request("PUT", "/apisix/admin/routes/%d" % i, body, {"X-API-KEY": ADMIN_KEY})
        answer = connection.getresponse()
        answer.read()
        took = time.monotonic() - begun
        self.assertIn(answer.status, (200, 201))
        self.assertEqual(answer.headers["X-Sluice-Applied"], "2/2")
        return took

    def test_a_write_is_in_force_as_fast_with_10000_routes_as_with_10(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.gateway.ports["admin"], timeout=30)
        self.addCleanup(connection.close)
        for i in range(10):
            self.put(connection, i, "*")
        few = statistics.median(self.put(connection, i % 10, "few") for i in range(60))
        for i in range(10, MANY):
            self.put(connection, i, "*")
        many = statistics.median(self.put(connection, i * 97 % MANY, "many") for i in range(60))
        sys_note = "median of a PUT with 10 routes %.2f ms, with %d %.2f ms" % (few * 1e3, MANY, many * 1e3)
        print(sys_note)
        self.assertLess(many, 0.050, sys_note)
        last = 59 * 97 % MANY
        for path, status in (("many", 200), ("few", 404)):
            answer = self.gateway.proxy("/api/v1/tenant%d/%s" % (last, path), headers={"Host": "t%d.example.com" % (last % 500)})
            self.assertEqual(answer.status, status)
        if not os.environ.get("SLUICE_SANITIZE"):   # a sanitizer needs memory of its own
            for pid in self.gateway.worker_pids():
                self.assertLess(resident_mib(pid), 150)
        print("resident per worker: %s MiB" % ", ".join("%.0f" % resident_mib(p) for p in self.gateway.worker_pids()))


class Descriptors(unittest.TestCase):
    LIMIT = 128

    def setUp(self):
        self.origin = Origin("one")
        self.addCleanup(self.origin.stop)
        self.gateway = Gateway(1)
        self.addCleanup(self.gateway.close)
        limit = lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (self.LIMIT, self.LIMIT))
        # Only the workers' need is tested: the rest of the gateway needs fewer. Root may exceed a hard limit, the
        # gateway does not try to without a reason.
        self.gateway.write_config({"nginx_config": {"worker_rlimit_nofile": self.LIMIT}})
        self.gateway.start(before=limit)
        self.gateway.put("/routes/1", {"uri": "/*", "upstream": {"type": "roundrobin", "nodes": {self.origin.node: 1}}})

    def log(self):
        with open(os.path.join(self.gateway.prefix, "logs", "error.log"), errors="replace") as f:
            return f.read()

    def test_what_is_open_is_served_and_the_rest_waits(self):
        port = self.gateway.ports["proxy"]
        worker = self.gateway.worker_pids()
        early = self.gateway.connection()
        self.assertEqual(self.gateway.proxy("/early", connection=early).status, 200)
        self.addCleanup(early.close)
        crowd = [socket.create_connection(("127.0.0.1", port), timeout=20) for _ in range(2 * self.LIMIT)]
        wait_until(lambda: "descriptors run short" in self.log(), 20, "the log says so")
        # Open before it got crowded, and among the first of the crowd: each needs an upstream connection.
        self.assertEqual(self.gateway.proxy("/early", connection=early).status, 200)
        for s in crowd[:20]:
            s.sendall(b"GET /crowd HTTP/1.1\r\nHost: h\r\n\r\n")
            self.assertTrue(s.recv(65536).startswith(b"HTTP/1.1 200 "))
        waiting = crowd[-1]
        waiting.sendall(b"GET /waiting HTTP/1.1\r\nHost: h\r\n\r\n")
        for s in crowd[:-1]:
            s.close()
        # It recovers by itself: who waited is served, newcomers are, and it is the same process.
        self.assertTrue(waiting.recv(65536).startswith(b"HTTP/1.1 200 "))
        waiting.close()
        self.assertEqual([request(port, "GET", "/after").status for _ in range(50)], [200] * 50)
        self.assertEqual(self.gateway.worker_pids(), worker)


if __name__ == "__main__":
    unittest.main()
