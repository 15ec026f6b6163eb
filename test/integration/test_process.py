"""Starts and reloads that go wrong, floods of them, children that die at once, and where workers may run."""
import http.client
import os
import re
import signal
import socket
import subprocess
import threading
import time
import unittest

from gateway import Gateway, GatewayTest, Load, Origin, free_ports, request, wait_until


def memory_kib(pid):
    """Memory of its own, shared pages left out."""
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"RssAnon:\s+(\d+)", f.read()).group(1))


class ProcessTest(GatewayTest):
    def setUp(self):
        super().setUp()
        self.gateway.put("/routes/1", self.route("/hello"))

    def slow_request(self):
        """A request that its origin keeps until the returned event is set; the connection it came on, and the event."""
        go = threading.Event()

        def answer(_handler, _body):
            go.wait(60)
            return 200, {}, b"slow"

        slow = Origin("slow", answer)
        self.addCleanup(slow.stop)
        self.addCleanup(go.set)
        self.gateway.put("/routes/slow", self.route("/slow", slow.node))
        connection = self.gateway.connection(timeout=60)
        self.addCleanup(connection.close)
        connection.request("GET", "/slow")
        wait_until(lambda: slow.count() == 1, 10, "the request has arrived")
        return connection, go

    def check_answered(self, connection):
        answer = connection.getresponse()
        self.assertEqual((answer.status, answer.read()), (200, b"slow"))
        connection.close()

    def log(self):
        with open(os.path.join(self.gateway.prefix, "logs", "error.log"), errors="replace") as f:
            return f.read()

    def hup(self, what):
        """HUP, until the log says `what` once more than before."""
        before = self.log().count(what)
        self.gateway.process.send_signal(signal.SIGHUP)
        wait_until(lambda: self.log().count(what) > before, 30, "the log says: " + what)

    def reload(self):
        generation = len(re.findall(r"generation \d+ serves", self.log())) + 2
        self.hup("generation %d serves" % generation)
        self.gateway.wait_ready()


class SecondStart(ProcessTest):
    def test_it_is_refused_and_changes_nothing(self):
        children = self.gateway.children()
        second = os.path.join(self.gateway.prefix, "second.yaml")
        with open(self.gateway.config_file) as f, open(second, "w") as out:
            out.write(f.read().replace('"worker_processes": 2', '"worker_processes": 1'))
        for config in (self.gateway.config_file, second):
            ended = subprocess.run([self.gateway.binary, "-c", config, "-p", self.gateway.prefix], capture_output=True,
                                   text=True, timeout=20)
            self.assertNotEqual(ended.returncode, 0)
            self.assertIn(str(self.gateway.process.pid), ended.stderr)
            self.assertEqual(self.gateway.children(), children)
        # Under another prefix it is the occupied port that refuses it.
        other = Gateway(1)
        self.addCleanup(other.close)
        ended = subprocess.run([self.gateway.binary, "-c", self.gateway.config_file, "-p", other.prefix],
                               capture_output=True, text=True, timeout=20)
        self.assertNotEqual(ended.returncode, 0)
        self.assertRegex(ended.stderr, r"127\.0\.0\.1:\d+.*in use")
        self.assertEqual(self.gateway.children(), children)
        self.assertEqual(self.gateway.proxy("/hello").status, 200)
        self.reload()  # and the first still obeys
        self.assertEqual(self.gateway.proxy("/hello").status, 200)


class Ports(ProcessTest):
    def listen_on(self, *ports):
        listen = [{"ip": "127.0.0.1", "port": p} for p in (self.gateway.ports["proxy"],) + ports]
        self.gateway.write_config({"apisix": {"node_listen": listen}})

    def refused(self, port):
        try:
            socket.create_connection(("127.0.0.1", port), timeout=2).close()
            return False
        except ConnectionRefusedError:
            return True

    def test_added_removed_and_occupied(self):
        added, occupied = free_ports(2)
        load = Load(self.gateway, "/hello")
        self.listen_on(added)
        self.reload()
        self.assertEqual(request(added, "GET", "/hello").status, 200)

        holder = socket.create_server(("127.0.0.1", occupied))
        self.addCleanup(holder.close)
        wait_until(lambda: len(self.gateway.worker_pids()) == 2, 20, "the old workers have left")
        workers = self.gateway.worker_pids()
        self.listen_on(occupied)  # and without the one that was added
        self.hup("reload refused")
        self.assertRegex(self.log(), r"reload refused[^\n]*127\.0\.0\.1:%d[^\n]*in use" % occupied)
        self.assertEqual(self.gateway.worker_pids(), workers)
        self.assertEqual(request(added, "GET", "/hello").status, 200)
        self.assertEqual(self.gateway.put("/routes/2", self.route("/two")).headers["X-Sluice-Applied"], "2/2")

        self.listen_on()
        self.reload()
        wait_until(lambda: self.refused(added), 15, "the removed port is closed")
        load.wait_for(50)
        self.assertEqual(load.stop(), [])


class ManyReloads(ProcessTest):
    def idle_clients(self, count):
        clients = [self.gateway.connection() for _ in range(count)]
        for c in clients:
            self.assertEqual(self.gateway.proxy("/hello", connection=c).status, 200)
            self.addCleanup(c.close)
        return clients

    def test_draining_workers_do_not_pile_up_behind_idle_clients(self):
        load = Load(self.gateway, "/hello", threads=2)
        clients = self.idle_clients(12)
        for _ in range(3):
            self.reload()
            clients += self.idle_clients(12)
        master = memory_kib(self.gateway.process.pid)
        for _ in range(7):
            self.reload()
            clients += self.idle_clients(12)
            # Two that serve, and those of at most three generations before them.
            wait_until(lambda: len(self.gateway.worker_pids()) <= 8, 10, "older workers leave")
        wait_until(lambda: len(self.gateway.worker_pids()) <= 6, 20, "only the latest generations are left")
        self.assertLess(memory_kib(self.gateway.process.pid), master * 1.1 + 512)
        # A client of a generation that still drains gets its next answer, and is told that it was the last.
        last = self.gateway.proxy("/hello", connection=clients[-13])
        self.assertEqual((last.status, last.headers["Connection"]), (200, "close"))
        load.wait_for(50)
        self.assertEqual(load.stop(), [])

    def test_a_request_under_way_is_answered_however_many_reloads_follow(self):
        slow, go = self.slow_request()
        for _ in range(5):
            self.reload()
        go.set()
        self.check_answered(slow)
        wait_until(lambda: len(self.gateway.worker_pids()) == 2, 20, "its worker has left")


class Deaths(ProcessTest):
    workers = 1

    def test_workers_that_die_at_once_come_back_slower_and_slower(self):
        dead = []
        until = time.monotonic() + 3
        while time.monotonic() < until:
            for pid in self.gateway.worker_pids():
                if pid not in dead:
                    os.kill(pid, signal.SIGKILL)
                    dead.append(pid)
            time.sleep(0.005)
        # At once, then after 0.1, 0.2, 0.4, 0.8, 1.6 s …
        self.assertGreaterEqual(len(dead), 4)
        self.assertLessEqual(len(dead), 8)
        log = self.log()
        for pid in dead[:-1]:
            self.assertRegex(log, r"worker 0 \(pid %d\) ended with signal 9" % pid)
        self.assertRegex(log, r"the next start is in \d+ ms")
        self.assertEqual(self.gateway.proxy("/hello", timeout=20).status, 200)

    def test_a_crash_is_told_and_only_its_own_connections_fail(self):
        idle = self.gateway.connection()
        self.assertEqual(self.gateway.proxy("/hello", connection=idle).status, 200)
        worker = self.gateway.worker_pids()[0]
        begun = time.monotonic()
        os.kill(worker, signal.SIGSEGV)
        self.assertEqual(self.gateway.proxy("/hello", timeout=10).status, 200)
        self.assertLess(time.monotonic() - begun, 3)
        with self.assertRaises((OSError, http.client.HTTPException)):
            self.gateway.proxy("/hello", connection=idle)
        # The address sanitizer reports the fault and aborts.
        last = signal.SIGABRT if "ASAN_OPTIONS" in os.environ else signal.SIGSEGV
        self.assertRegex(self.log(), r"worker 0 \(pid %d\) ended with signal %d" % (worker, last))

    def test_when_the_master_dies_requests_under_way_end_well(self):
        slow, go = self.slow_request()
        children = list(self.gateway.children())
        self.gateway.process.kill()
        self.gateway.process.wait()
        self.gateway.start()  # the pid file of a dead master is no hindrance
        self.assertEqual(self.gateway.proxy("/hello").status, 200)
        go.set()
        self.check_answered(slow)
        wait_until(lambda: not any(os.path.exists("/proc/%d" % pid) for pid in children), 20, "the orphans have ended")


def affinity(pid):
    return sorted(os.sched_getaffinity(pid))


class Pinning(unittest.TestCase):
    def setUp(self):
        self.before = os.sched_getaffinity(0)
        self.addCleanup(lambda: os.sched_setaffinity(0, self.before))

    def start(self, cpus, **ours):
        os.sched_setaffinity(0, cpus)  # inherited
        gateway = Gateway(config={"sluice": ours})
        self.addCleanup(gateway.close)
        gateway.start()
        os.sched_setaffinity(0, self.before)
        return gateway

    def masks(self, gateway):
        return sorted(affinity(pid) for pid in gateway.worker_pids())

    def test_a_listed_pinning_spreads_over_what_is_listed(self):
        cpus = sorted(self.before)[:2]
        gateway = self.start(set(cpus), worker_processes=4, cpu_affinity=cpus)
        self.assertEqual(self.masks(gateway), sorted([[c] for c in cpus] * (4 // len(cpus))))

    def test_more_workers_than_cpus_share_them_evenly_when_asked_to(self):
        cpus = sorted(self.before)[:2]
        gateway = self.start(set(cpus), worker_processes=2 * len(cpus), cpu_affinity="auto")
        self.assertEqual(self.masks(gateway), sorted([[c] for c in cpus] * 2))

    def test_automatic_pinning_follows_a_mask_that_changes(self):
        cpus = sorted(self.before)
        if len(cpus) < 2:
            self.skipTest("one processor")
        gateway = self.start({cpus[1]}, worker_processes="auto", cpu_affinity="auto")
        self.assertEqual(self.masks(gateway), [[cpus[1]]])
        os.sched_setaffinity(gateway.process.pid, {cpus[0]})
        old = gateway.worker_pids()
        gateway.process.send_signal(signal.SIGHUP)
        wait_until(lambda: gateway.worker_pids() and not set(old) & set(gateway.worker_pids()), 20, "a new generation")
        self.assertEqual(self.masks(gateway), [[cpus[0]]])

    def test_a_cpu_outside_the_mask_refuses_the_start(self):
        cpus = sorted(self.before)
        gateway = Gateway(config={"sluice": {"cpu_affinity": [max(cpus) + 1]}})
        self.addCleanup(gateway.close)
        gateway.start(ready=False)
        self.assertNotEqual(gateway.process.wait(20), 0)
        self.assertIn("sluice.cpu_affinity", gateway.log_tail())


del ProcessTest  # a base, not a test


if __name__ == "__main__":
    unittest.main()
