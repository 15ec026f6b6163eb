"""The configuration's sources against what goes wrong in the field: two writers, standalone files, hot reload."""
import concurrent.futures
import json
import os
import time
import unittest

from gateway import ADMIN_KEY, Gateway, GatewayTest, Origin, wait_until


class Writers(GatewayTest):
    def test_two_patches_at_once_lose_nothing(self):
        self.gateway.put("/routes/1", self.route("/hello"))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for n in range(60):
                patches = ({"labels": {"a": str(n)}}, {"desc": str(n)})
                answers = list(pool.map(lambda p: self.gateway.admin("PATCH", "/routes/1", p), patches))
                value = self.gateway.admin("GET", "/routes/1").json()["value"]
                for answer, patch in zip(answers, patches):
                    if answer.status == 200:
                        for key, part in patch.items():
                            self.assertEqual(value[key], part)
                    else:
                        self.assertIn(answer.status, (409, 503))

    def test_a_write_among_many_routes_is_quick(self):
        # A few hundred are enough to see that a write does not depend on their number.
        for i in range(300):
            self.gateway.put("/routes/r%d" % i, self.route("/many/%d" % i))
        took = []
        for i in range(20):
            begun = time.monotonic()
            self.gateway.put("/routes/x", self.route("/x%d" % i))
            took.append(time.monotonic() - begun)
            self.assertEqual(self.gateway.proxy("/x%d" % i).status, 200)
        self.assertLess(sorted(took)[len(took) // 2], 0.05)


class StandaloneFile(unittest.TestCase):
    def setUp(self):
        self.origin = Origin("one")
        self.addCleanup(self.origin.stop)
        self.gateway = Gateway(config={"deployment": {"role": "data_plane",
                                                      "role_data_plane": {"config_provider": "yaml"}}})
        self.addCleanup(self.gateway.close)
        os.chmod(self.gateway.prefix, 0o755)  # the file is read with the rights of the workers' account
        self.file = os.path.join(self.gateway.prefix, "apisix.yaml")

    def write(self, document, end=True):
        with open(self.file + ".new", "w") as f:
            f.write(document if isinstance(document, str) else json.dumps(document))
            f.write("\n#END\n" if end else "\n")
        os.rename(self.file + ".new", self.file)

    def status(self, path):
        return self.gateway.proxy(path).status

    def everywhere(self, path, status):
        # A file has nobody who waits for an acknowledgement: each worker follows in its own time.
        wait_until(lambda: [self.status(path) for _ in range(12)] == [status] * 12, 10,
                   "%s gives %d on every worker" % (path, status))

    @unittest.skipUnless(os.geteuid() == 0, "needs an account that may not read what the starter may")
    def test_a_file_that_its_follower_may_not_read_refuses_the_start(self):
        self.write({"routes": []})
        os.chmod(self.file, 0o600)
        self.gateway.start(ready=False)
        self.assertEqual(self.gateway.process.wait(20), 1)
        with open(self.gateway.output) as f:
            self.assertRegex(f.read(), "apisix.yaml: expected a file that the account .* can read: Permission denied")

    def test_the_file_is_followed_and_bad_content_changes_nothing(self):
        route = lambda i, **more: {"id": str(i), "uri": "/r%d" % i, "upstream": {
            "type": "roundrobin", "nodes": {self.origin.node: 1}}, **more}
        self.write({"routes": [route(1), route(2)]})
        self.gateway.start(ready=False)

        def up():
            try:
                return self.status("/r1") == 200
            except OSError:
                return False

        wait_until(up, 20, "the first route")
        self.assertEqual(self.status("/r2"), 200)
        self.assertEqual(self.gateway.proxy("/apisix/admin/routes", headers={"X-API-KEY": ADMIN_KEY}).status, 404)

        # An unknown plugin must not open a door; the others are served.
        self.write({"routes": [route(1), route(3, plugins={"key-auht": {}}), route(4)]})
        self.everywhere("/r4", 200)
        self.everywhere("/r2", 404)
        self.assertNotEqual(self.status("/r3"), 200)
        with open(os.path.join(self.gateway.prefix, "logs", "error.log"), errors="replace") as f:
            self.assertRegex(f.read(), r"apisix\.yaml: .*unknown plugin \[key-auht\] \(routes/3, item 2 of its section")

        # Without the end marker, and cut in the middle: the old content stays.
        log = os.path.join(self.gateway.prefix, "logs", "error.log")
        self.write({"routes": [route(5)]}, end=False)

        def complained():
            with open(log, errors="replace") as f:
                return "missing valid end flag" in f.read()

        wait_until(complained, 10, "the log says what is missing")
        self.assertEqual((self.status("/r5"), self.status("/r4")), (404, 200))
        self.write({"routes": [route(5)]})
        self.everywhere("/r5", 200)
        self.everywhere("/r4", 404)


if __name__ == "__main__":
    unittest.main()
