"""Read your writes: what an Admin answer has promised, every worker keeps at once."""
import concurrent.futures
import unittest

from gateway import GatewayTest, Origin


class ReadYourWrites(GatewayTest):
    def statuses(self, path, connections=50):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            return [a.status for a in pool.map(lambda _: self.gateway.proxy(path), range(connections))]

    def test_a_write_is_in_force_on_every_worker_when_it_is_answered(self):
        for i in range(10):
            answer = self.gateway.put("/routes/1", self.route("/v%d" % i))
            self.assertEqual(answer.headers["X-Sluice-Applied"], "2/2")
            self.assertEqual(self.statuses("/v%d" % i), [200] * 50)
            if i:
                self.assertEqual(self.statuses("/v%d" % (i - 1), 10), [404] * 10)
        self.assertEqual(self.gateway.admin("DELETE", "/routes/1").status, 200)
        self.assertEqual(self.statuses("/v9"), [404] * 50)

    def test_a_changed_upstream_gets_the_next_request(self):
        second = Origin("two")
        self.addCleanup(second.stop)
        self.gateway.put("/upstreams/1", {"type": "roundrobin", "nodes": {self.origin.node: 1}})
        self.gateway.put("/routes/1", {"uri": "/u", "upstream_id": "1"})
        for i in range(20):
            origin = (self.origin, second)[i % 2]
            self.gateway.put("/upstreams/1", {"type": "roundrobin", "nodes": {origin.node: 1}})
            bodies = {self.gateway.proxy("/u").body for _ in range(10)}
            self.assertEqual(bodies, {origin.name.encode()})

    def test_many_writers_at_once(self):
        def write_and_read(i):
            self.gateway.put("/routes/%d" % i, self.route("/w%d" % i))
            return [self.gateway.proxy("/w%d" % i).status for _ in range(4)]

        with concurrent.futures.ThreadPoolExecutor(8) as pool:
            for statuses in pool.map(write_and_read, range(1, 81)):
                self.assertEqual(statuses, [200] * 4)

    def test_revisions_grow(self):
        revisions = [int(self.gateway.put("/routes/1", self.route("/r%d" % i)).headers["X-Sluice-Revision"])
                     for i in range(5)]
        self.assertEqual(revisions, sorted(set(revisions)))


if __name__ == "__main__":
    unittest.main()
