"""The metrics listener over the life of workers: sums over all of them, nothing lost when one dies."""
import os
import re
import signal
import unittest

from gateway import GatewayTest, request, wait_until


class Metrics(GatewayTest):
    def setUp(self):
        super().setUp()
        self.gateway.put("/routes/1", self.route("/hello", plugins={"prometheus": {}}))

    def scrape(self):
        answer = request(self.gateway.ports["metrics"], "GET", "/apisix/prometheus/metrics")
        self.assertEqual(answer.status, 200)
        self.assertTrue(answer.headers["Content-Type"].startswith("text/plain"))
        return answer.body.decode()

    def count(self, code="200"):
        found = re.findall(r'^apisix_http_status\{code="%s",route="1",.*\} (\d+)$' % code, self.scrape(), re.M)
        return sum(map(int, found))

    def test_every_request_is_counted_once_whoever_served_it(self):
        for _ in range(40):
            self.assertEqual(self.gateway.proxy("/hello").status, 200)
        wait_until(lambda: self.count() == 40, 5, "forty requests are counted")
        for pid in self.gateway.worker_pids():
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.gateway.proxy("/hello", timeout=15).status, 200)
        wait_until(lambda: self.count() == 41, 5, "what dead workers counted is kept")
        text = self.scrape()
        self.assertIn("# TYPE apisix_http_status counter", text)
        self.assertIn("apisix_nginx_http_current_connections", text)
        self.assertIn("apisix_node_info", text)

    def test_other_addresses(self):
        port = self.gateway.ports["metrics"]
        self.assertEqual(request(port, "GET", "/elsewhere").status, 404)
        self.assertEqual(request(port, "POST", "/apisix/prometheus/metrics").status, 404)
        self.assertIn(b"Active connections", request(port, "GET", "/apisix/nginx_status").body)


class FullDictionary(GatewayTest):
    config = {"sluice": {"shared_dict": {"plugin-limit-count": "64k"}}}

    def test_it_evicts_serves_on_and_is_told_with_the_key_that_raises_it(self):
        limit = {"count": 1000, "time_window": 600, "key": "arg_k", "_meta": {"priority": 20000}}
        self.gateway.put("/routes/1", self.route("/hello", plugins={
            "limit-count": limit, "mocking": {"response_example": "x"}}))
        log = os.path.join(self.gateway.prefix, "logs", "error.log")

        def warnings():
            with open(log, errors="replace") as f:
                return [line for line in f if "shared dictionary plugin-limit-count is full" in line]

        connection = self.gateway.connection()
        self.addCleanup(connection.close)
        sent = 0
        while not warnings() and sent < 20000:
            for _ in range(500):
                sent += 1
                self.assertEqual(self.gateway.proxy("/hello?k=%d" % sent, connection=connection).status, 200)
        self.assertEqual(len(warnings()), 1)
        self.assertIn("raise sluice.shared_dict.plugin-limit-count in config.yaml", warnings()[0])


if __name__ == "__main__":
    unittest.main()
