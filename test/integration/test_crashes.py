"""kill -9 of each process, under load: what the failure table of the design promises."""
import http.client
import os
import signal
import threading
import time
import unittest

from gateway import GatewayTest, Load, wait_until


class Writer:
    """Writes routes one after the other and remembers which writes were acknowledged."""

    def __init__(self, test):
        self.test = test
        self.acknowledged = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self):
        n = 0
        while not self._stop.is_set():
            n += 1
            key, uri = "w%d" % (n % 40), "/written/%d" % n
            try:
                answer = self.test.gateway.admin("PUT", "/routes/" + key, self.test.route(uri), timeout=5)
            except (OSError, http.client.HTTPException):
                # Unknown whether it counts: what it overwrote cannot be asked for any more.
                self.acknowledged.pop(key, None)
                time.sleep(0.01)
                continue
            if answer.status in (200, 201):
                self.acknowledged[key] = uri
            else:
                self.acknowledged.pop(key, None)

    def stop(self):
        self._stop.set()
        self._thread.join(20)
        return self.acknowledged


class Crashes(GatewayTest):
    def setUp(self):
        super().setUp()
        self.gateway.put("/routes/1", self.route("/hello"))

    def check_written(self, acknowledged, through_proxy=True):
        self.assertGreater(len(acknowledged), 0)
        for key, uri in acknowledged.items():
            answer = self.gateway.admin("GET", "/routes/" + key)
            self.assertEqual(answer.status, 200, key)
            self.assertEqual(answer.json()["value"]["uri"], uri)
            if through_proxy:
                self.assertEqual(self.gateway.proxy(uri).status, 200, uri)

    def test_the_admin_process_dies_and_traffic_does_not_feel_it(self):
        load = Load(self.gateway, "/hello")
        writer = Writer(self)
        for _ in range(3):
            load.wait_for(200)
            wait_until(lambda: len(writer.acknowledged) > 10, what="some writes")
            victim = self.gateway.admin_pid()
            os.kill(victim, signal.SIGKILL)
            load.wait_for(200)
            wait_until(lambda: self.gateway.admin_pid() not in (None, victim), what="a new admin process")
            self.gateway.wait_ready()
        acknowledged = writer.stop()
        self.assertEqual(load.stop(), [])
        self.check_written(acknowledged)
        # Writes reach the workers again at once.
        self.assertEqual(self.gateway.put("/routes/2", self.route("/after")).headers["X-Sluice-Applied"], "2/2")
        self.assertEqual([self.gateway.proxy("/after").status for _ in range(20)], [200] * 20)

    def test_a_worker_dies_and_is_replaced(self):
        load = Load(self.gateway, "/hello", threads=6)
        load.wait_for(300)
        before = self.gateway.worker_pids()
        self.assertEqual(len(before), 2)
        os.kill(before[0], signal.SIGKILL)
        killed_at = time.monotonic()
        wait_until(lambda: len(self.gateway.worker_pids()) == 2 and before[0] not in self.gateway.worker_pids(),
                   what="a new worker")
        wait_until(lambda: self.gateway.put("/routes/2", self.route("/after")).headers["X-Sluice-Applied"] == "2/2",
                   what="the new worker acknowledges")
        took = time.monotonic() - killed_at
        load.wait_for(300)
        failures = load.stop()
        # Only what was in flight on its own connections: one request per load thread at most, and what they had just
        # begun to send.
        self.assertLessEqual(len(failures), 12, failures)
        self.assertIn(before[1], self.gateway.worker_pids())
        self.assertEqual([self.gateway.proxy("/after").status for _ in range(40)], [200] * 40)
        print("replaced in %.3f s" % took)
        self.assertLess(took, 1.0)   # forked, configured and acknowledging

    def test_every_worker_dies_and_the_listener_keeps_its_queue(self):
        for pid in self.gateway.worker_pids():
            os.kill(pid, signal.SIGKILL)
        # No worker is there: the connection waits in the queue of the listener, which the master holds.
        self.assertEqual(self.gateway.proxy("/hello", timeout=15).status, 200)

    def test_a_power_cut_loses_no_acknowledged_write(self):
        for _ in range(2):
            writer = Writer(self)
            wait_until(lambda: len(writer.acknowledged) > 25, 30, "some writes")
            self.gateway.kill_all()
            acknowledged = writer.stop()
            self.gateway.start()
            self.check_written(acknowledged)

    def test_the_master_dies_and_a_new_start_can_bind_at_once(self):
        children = list(self.gateway.children())
        self.gateway.process.kill()
        self.gateway.process.wait()
        self.gateway.start()
        self.assertEqual(self.gateway.proxy("/hello").status, 200)
        wait_until(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in children), 30,
                   "the children of the dead master have gone")


if __name__ == "__main__":
    unittest.main()
