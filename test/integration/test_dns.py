"""Upstream nodes by name: resolved before the write is answered, followed when they move, kept through an outage."""
import time
import unittest

from dns_server import DnsServer
from gateway import GatewayTest, Load, Origin, wait_until


class Names(GatewayTest):
    def setUp(self):
        self.dns = DnsServer(ttl=1)
        self.addCleanup(self.dns.stop)
        self.config = {"apisix": {"dns_resolver": [self.dns.address], "enable_resolv_search_opt": False}}
        super().setUp()
        self.dns.zone["origin.test"] = ["127.0.0.1"]

    def name_route(self, name="origin.test"):
        return self.route("/by-name", "%s:%d" % (name, self.origin.port))

    def test_the_first_request_after_the_write_finds_the_node(self):
        for i in range(5):
            name = "n%d.test" % i
            self.dns.zone[name] = ["127.0.0.1"]
            self.gateway.put("/routes/1", self.name_route(name))
            self.assertEqual([self.gateway.proxy("/by-name").status for _ in range(10)], [200] * 10)

    def test_the_node_is_followed_when_its_address_changes(self):
        # 127.0.0.2 is this machine too, but nobody listens there on this port.
        self.dns.zone["origin.test"] = ["127.0.0.2"]
        self.gateway.put("/routes/1", self.name_route())
        self.assertEqual(self.gateway.proxy("/by-name").status, 502)
        self.dns.zone["origin.test"] = ["127.0.0.1"]
        wait_until(lambda: [self.gateway.proxy("/by-name").status for _ in range(8)] == [200] * 8, 4,
                   "every worker uses the new address")

    def test_an_outage_of_dns_is_not_felt_and_ends_with_it(self):
        self.gateway.put("/routes/1", self.name_route())
        load = Load(self.gateway, "/by-name", threads=2)
        load.wait_for(50)
        for mood in ("server_failure", "empty", "silent"):
            self.dns.mood = mood
            asked = self.dns.questions
            wait_until(lambda: self.dns.questions >= asked + 3, 20, "questions while the server is away")
            load.wait_for(50)
        self.assertEqual(load.stop(), [])
        second = Origin("two", port=0)
        self.addCleanup(second.stop)
        self.dns.zone["origin.test"] = ["127.0.0.2"]
        self.dns.mood = "fine"
        back = time.monotonic()
        wait_until(lambda: [self.gateway.proxy("/by-name").status for _ in range(8)] == [502] * 8, 5,
                   "every worker has the new address")
        self.assertLess(time.monotonic() - back, 3.0)

    def test_a_name_that_appears_later_is_found(self):
        self.gateway.put("/routes/1", self.name_route("later.test"))
        self.assertIn(self.gateway.proxy("/by-name").status, (502, 503))
        self.dns.zone["later.test"] = ["127.0.0.1"]
        wait_until(lambda: [self.gateway.proxy("/by-name").status for _ in range(8)] == [200] * 8, 4,
                   "every worker has the address")


if __name__ == "__main__":
    unittest.main()
