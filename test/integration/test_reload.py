"""HUP under load: new workers take over, nobody notices; a bad file changes nothing."""
import os
import signal
import unittest

from gateway import GatewayTest, Load, wait_until


class Reload(GatewayTest):
    def setUp(self):
        super().setUp()
        self.gateway.put("/routes/1", self.route("/hello"))

    def reload(self, workers=2):
        """HUP, and wait until the new generation has taken over."""
        before = set(self.gateway.worker_pids())
        admin = self.gateway.admin_pid()
        self.gateway.process.send_signal(signal.SIGHUP)
        wait_until(lambda: len(set(self.gateway.worker_pids()) - before) == workers, 20, "new workers")
        wait_until(lambda: not before & set(self.gateway.worker_pids()), 30, "the old workers have left")
        wait_until(lambda: self.gateway.admin_pid() not in (None, admin), 20, "a new admin process")
        self.gateway.wait_ready()

    def test_no_request_fails_and_writes_go_on(self):
        load = Load(self.gateway, "/hello", threads=6)
        for i in range(3):
            load.wait_for(200)
            self.reload()
            answer = self.gateway.put("/routes/2", self.route("/after%d" % i))
            self.assertEqual(answer.headers["X-Sluice-Applied"], "2/2")
            self.assertEqual([self.gateway.proxy("/after%d" % i).status for _ in range(20)], [200] * 20)
        load.wait_for(200)
        self.assertEqual(load.stop(), [])

    def test_the_number_of_workers_follows_the_file(self):
        load = Load(self.gateway, "/hello")
        for workers in (3, 1, 2):
            self.gateway.write_config({"sluice": {"worker_processes": workers}})
            self.reload(workers)
            self.assertEqual(len(self.gateway.worker_pids()), workers)
        load.wait_for(100)
        self.assertEqual(load.stop(), [])

    def test_a_dictionary_changes_its_size_and_keeps_its_counts(self):
        limit = {"count": 2, "time_window": 600, "key": "remote_addr", "rejected_code": 429}
        self.gateway.put("/routes/3", self.route("/limited", plugins={"limit-count": limit}))
        self.assertEqual(self.gateway.proxy("/limited").status, 200)
        self.gateway.write_config({"sluice": {"shared_dict": {"plugin-limit-count": "20m", "prometheus-metrics": "90m"}}})
        self.reload()
        log = self.gateway.log_tail()
        self.assertIn("dictionary plugin-limit-count: from 10485760 to 20971520 octets", log)
        self.assertIn("dictionary prometheus-metrics: from", log)
        self.assertIn("is not possible without a restart", log)
        self.assertEqual([self.gateway.proxy("/limited").status for _ in range(2)], [200, 429])

    def test_a_bad_file_changes_nothing_and_is_named(self):
        workers = self.gateway.worker_pids()
        for text in ("apisix: [", "apisix:\n  node_listen: many\n"):
            with open(self.gateway.config_file, "w") as f:
                f.write(text)
            log = os.path.join(self.gateway.prefix, "logs", "error.log")
            before = os.path.getsize(log)

            def complained():
                with open(log, errors="replace") as f:
                    f.seek(before)
                    return "config.yaml" in f.read()

            self.gateway.process.send_signal(signal.SIGHUP)
            wait_until(complained, 10, "the error log names the file")
            self.assertEqual(self.gateway.worker_pids(), workers)
            self.assertEqual(self.gateway.proxy("/hello").status, 200)
        self.gateway.write_config()
        self.reload()
        self.assertEqual(self.gateway.proxy("/hello").status, 200)

    def test_counters_survive(self):
        limited = self.route("/limited", plugins={"limit-count": {"count": 3, "time_window": 600, "rejected_code": 429,
                                                                   "key": "remote_addr"}})
        self.gateway.put("/routes/3", limited)
        self.assertEqual([self.gateway.proxy("/limited").status for _ in range(2)], [200, 200])
        self.reload()
        self.assertEqual([self.gateway.proxy("/limited").status for _ in range(2)], [200, 429])
        for pid in self.gateway.worker_pids():
            os.kill(pid, signal.SIGKILL)
        self.assertEqual(self.gateway.proxy("/limited", timeout=15).status, 429)


class Stop(GatewayTest):
    def test_a_graceful_stop_ends_what_is_under_way(self):
        self.gateway.put("/routes/1", self.route("/hello"))
        load = Load(self.gateway, "/hello", threads=1)
        load.wait_for(50)
        load.stop()
        self.assertEqual(self.gateway.stop(signal.SIGQUIT), 0)
        self.assertEqual(load.failures, [])


if __name__ == "__main__":
    unittest.main()
