"""What an operator does to a running gateway: rotates its logs, resizes its terminal, asks for what there is not."""
import contextlib
import fcntl
import http.client
import os
import pty
import pwd
import signal
import socket
import stat
import struct
import subprocess
import termios
import threading
import unittest

from gateway import Gateway, GatewayTest, free_ports, wait_until

ROOT = os.geteuid() == 0


class Logs(GatewayTest):
    config = {"nginx_config": {"http": {"access_log_buffer": 0, "access_log_format": "$request_uri"}}}

    def setUp(self):
        super().setUp()
        self.gateway.put("/routes/1", self.route("/*"))

    def path(self, name):
        return os.path.join(self.gateway.prefix, "logs", name)

    def text(self, name):
        try:
            with open(self.path(name), errors="replace") as f:
                return f.read()
        except OSError:
            return ""

    def reopen(self):
        before = self.text("error.log").count("logs reopened")
        self.gateway.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: self.text("error.log").count("logs reopened") > before, 15, "the master has reopened")

    def test_after_a_rotation_every_process_writes_to_the_new_files(self):
        self.gateway.proxy("/before")
        wait_until(lambda: "/before" in self.text("access.log"), 15, "the line of the first request")
        for name in ("access.log", "error.log"):
            os.rename(self.path(name), self.path(name + ".1"))
        self.gateway.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: "logs reopened" in self.text("error.log"), 15, "the master writes to the new file")

        def line_arrives():
            self.gateway.proxy("/after")
            return "/after" in self.text("access.log")

        wait_until(line_arrives, 15, "the workers write to the new access log")
        # What a worker has to say comes into the new error log: its farewell, for one.
        self.gateway.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "#worker 0: draining" in self.text("error.log"), 20, "a worker's line in the new error log")
        self.assertNotIn("cannot be reopened", self.text("error.log"))
        wait_until(lambda: "generation 2 serves" in self.text("error.log"), 20, "the reload is done")

    def test_the_logs_are_readable_for_their_owner_and_group_alone(self):
        owner = pwd.getpwuid(os.stat(self.path("error.log")).st_uid)
        for name in ("access.log", "error.log"):
            info = os.stat(self.path(name))
            self.assertEqual(stat.S_IMODE(info.st_mode) & 0o137, 0, name)
            self.assertEqual(info.st_uid, owner.pw_uid)
        if ROOT:
            self.assertNotEqual(owner.pw_uid, 0)

    def test_an_access_log_that_cannot_be_opened_refuses_the_reload(self):
        workers = self.gateway.worker_pids()
        self.gateway.write_config({"nginx_config": {"http": {"access_log": "/no/such/folder/access.log"}}})
        self.gateway.process.send_signal(signal.SIGHUP)
        wait_until(lambda: "reload refused" in self.text("error.log"), 15, "the refusal")
        self.assertRegex(self.text("error.log"), "reload refused.*nginx_config.http.access_log.*/no/such/folder")
        self.assertEqual(self.gateway.worker_pids(), workers)
        self.assertEqual(self.gateway.proxy("/still").status, 200)

    @unittest.skipUnless(ROOT, "root's rights are what is at stake")
    def test_root_follows_no_link_of_the_workers_account(self):
        account = os.stat(self.path("error.log")).st_uid
        victim = os.path.join(self.gateway.prefix, "victim")
        os.remove(self.path("error.log"))
        os.symlink(victim, self.path("error.log"))
        os.lchown(self.path("error.log"), account, account)
        self.gateway.process.send_signal(signal.SIGUSR1)
        self.gateway.stop()
        self.assertFalse(os.path.exists(victim))
        self.gateway.start(ready=False)
        self.assertEqual(self.gateway.process.wait(20), 1)
        self.assertFalse(os.path.exists(victim))
        with open(self.gateway.output) as f:
            self.assertRegex(f.read(), "nginx_config.error_log.*Too many levels of symbolic links")


class Nodes(GatewayTest):
    workers = 1

    def test_what_a_node_does_wrong_is_told_with_the_client_and_without_the_query(self):
        dead = free_ports(1)[0]
        liar = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(liar.close)

        def lie():
            for answer in (b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", b"",
                           b"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"):
                connection, _ = liar.accept()
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer)

        threading.Thread(target=lie, daemon=True).start()
        lying = "127.0.0.1:%d" % liar.getsockname()[1]
        self.gateway.put("/routes/1", self.route("/dead", "127.0.0.1:%d" % dead))
        self.gateway.put("/routes/2", self.route("/liar", lying))
        self.assertEqual(self.gateway.proxy("/dead?apikey=secret").status, 502)
        for status in (502, 502, 200):
            with contextlib.suppress(http.client.IncompleteRead):
                self.assertEqual(self.gateway.proxy("/liar", "POST", b"x").status, status)
        with open(os.path.join(self.gateway.prefix, "logs", "error.log")) as f:
            log = f.read()
        self.assertIn('upstream 127.0.0.1:%d takes no connection, client 127.0.0.1, request "GET /dead", route 1' % dead, log)
        for what in ("sent a malformed answer", "ended the connection without an answer", "cut its answer short"):
            self.assertIn('upstream %s %s, client 127.0.0.1, request "POST /liar", route 2' % (lying, what), log)
        self.assertNotIn("secret", log)


class Terminal(unittest.TestCase):
    """The gateway in the foreground of a terminal."""

    def test_a_resized_window_does_not_drain_the_workers(self):
        gateway = Gateway(1)
        self.addCleanup(gateway.close)
        leader, follower = pty.openpty()
        self.addCleanup(os.close, leader)

        def own_terminal():
            os.setsid()
            fcntl.ioctl(follower, termios.TIOCSCTTY, 0)

        gateway.process = subprocess.Popen([gateway.binary, "-c", gateway.config_file, "-p", gateway.prefix],
                                           stdin=follower, stdout=follower, stderr=follower, preexec_fn=own_terminal)
        os.close(follower)
        threading.Thread(target=self.drain, args=(leader,), daemon=True).start()
        gateway.wait_ready()
        workers = gateway.worker_pids()
        for columns in range(80, 100):
            fcntl.ioctl(leader, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        # An order that is obeyed after the last resize: by then the signals before it are dealt with.
        gateway.process.send_signal(signal.SIGUSR1)
        wait_until(lambda: "logs reopened" in gateway.log_tail(), 15, "the signals are dealt with")
        self.assertEqual(gateway.worker_pids(), workers)
        self.assertNotIn("draining", gateway.log_tail())
        # From another process it is an order.
        gateway.process.send_signal(signal.SIGWINCH)
        wait_until(lambda: not gateway.worker_pids(), 15, "the workers have drained")

    @staticmethod
    def drain(leader):
        try:
            while os.read(leader, 65536):
                pass
        except OSError:
            pass


class Orders(GatewayTest):
    workers = 1

    def test_what_is_not_available_is_refused_and_changes_nothing(self):
        children = self.gateway.children()
        ended = subprocess.run([self.gateway.binary, "-s", "upgrade", "-c", self.gateway.config_file, "-p",
                                self.gateway.prefix], capture_output=True, text=True, timeout=20)
        self.assertEqual(ended.returncode, 1)
        self.assertIn("not available", ended.stderr)
        self.assertEqual(self.gateway.children(), children)


if __name__ == "__main__":
    unittest.main()
