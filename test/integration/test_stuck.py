"""A worker that hangs is noticed by its heartbeat, killed and replaced; the others serve its queue meanwhile."""
import os
import signal
import unittest

from gateway import GatewayTest, wait_until


class Stuck(GatewayTest):
    def test_a_stopped_worker_is_replaced_and_writes_do_not_hang(self):
        self.gateway.put("/routes/1", self.route("/hello"))
        workers = self.gateway.worker_pids()
        os.kill(workers[0], signal.SIGSTOP)
        # The first write waits for it, a second at most; then it is out of the wait.
        first = self.gateway.put("/routes/2", self.route("/two"))
        self.assertEqual(first.headers["X-Sluice-Applied"], "1/2")
        second = self.gateway.put("/routes/3", self.route("/three"))
        self.assertEqual(second.headers["X-Sluice-Applied"], "1/2")
        wait_until(lambda: workers[0] not in self.gateway.worker_pids() and len(self.gateway.worker_pids()) == 2, 20,
                   "the stuck worker is replaced")
        wait_until(lambda: self.gateway.put("/routes/4", self.route("/four")).headers["X-Sluice-Applied"] == "2/2", 10,
                   "writes reach both workers")
        self.assertEqual([self.gateway.proxy("/three").status for _ in range(30)], [200] * 30)


if __name__ == "__main__":
    unittest.main()
