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


if __name__ == "__main__":
    unittest.main()
