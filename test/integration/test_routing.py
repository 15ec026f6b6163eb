"""Which route a request gets over the wire: spellings of hosts, and targets that arrive as they were sent."""
import socket
import unittest

from gateway import GatewayTest


def raw(port, target, host, method="GET"):
    """A request whose target and Host are sent as they are given; the status and the body of its answer."""
    with socket.create_connection(("127.0.0.1", port), timeout=10) as s:
        s.sendall(("%s %s HTTP/1.1\r\nHost: %s\r\nConnection: close\r\n\r\n" % (method, target, host)).encode())
        text = b""
        while True:
            part = s.recv(65536)
            if not part:
                break
            text += part
    head, _, body = text.partition(b"\r\n\r\n")
    return int(head.split(b" ", 2)[1]), body.decode(errors="replace")


class Routes(GatewayTest):
    workers = 1

    def setUp(self):
        super().setUp()
        self.put_named("open", uri="/*", priority=-1)

    def put_named(self, name, **fields):
        """A route that answers with its own name."""
        plugins = {"mocking": {"response_example": name, "content_type": "text/plain"}}
        plugins.update(fields.pop("plugins", {}))
        self.gateway.put("/routes/" + name, {**fields, "plugins": plugins})

    def ask(self, host, target):
        return raw(self.gateway.ports["proxy"], target, host)

    def picked(self, host, target):
        status, body = self.ask(host, target)
        self.assertEqual(status, 200, body)
        return body.strip()

    def put_competitors(self):
        self.put_named("one", uri="/v1/*", hosts=["*.t.test"], priority=1)
        self.put_named("two", uri="/*", hosts=["a.t.test"], priority=0)
        self.put_named("three", uri="/v1/deep/*", priority=99)

    SPELLINGS = ("a.t.test", "A.T.Test", "a.t.test:9080", "a.t.test.", "A.t.test.:80")


class HostsFirst(Routes):
    config = {"apisix": {"router": {"http": "radixtree_host_uri"}}}

    def test_the_host_decides_before_the_path_in_every_spelling(self):
        self.put_competitors()
        for host in self.SPELLINGS:
            self.assertEqual(self.picked(host, "/v1/deep/x"), "two", host)
        self.assertEqual(self.picked("b.t.test", "/v1/x"), "one")
        self.assertEqual(self.picked("B.T.TEST.:8080", "/v1/x"), "one")
        self.assertEqual(self.picked("c.other", "/v1/deep/x"), "three")

    def test_a_guarded_host_has_no_spelling_that_evades_it(self):
        guard = {"key-auth": {}}
        self.gateway.put("/services/s", {"hosts": ["API.test"], "plugins": guard})
        self.gateway.put("/routes/of-service", {**self.route("/*"), "service_id": "s"})
        many = ["h%d.test" % i for i in range(149)] + ["secret.test"]
        self.put_named("many", uri="/*", hosts=many, plugins=guard)
        self.check_guarded()

    def check_guarded(self):
        for name in ("api.test", "secret.test", "h0.test", "h148.test"):
            for host in (name, name.upper(), name.capitalize(), name + ":9080", name + ".", name.upper() + ".:1"):
                self.assertEqual(self.ask(host, "/x")[0], 401, host)
                # The authority of an absolute target is the host, whatever the field says.
                self.assertEqual(self.ask("open.test", "http://%s/x" % host)[0], 401, host)
                self.assertEqual(self.ask(host, "http://open.test/x")[0], 200, host)
        self.assertEqual(self.ask("open.test", "/x")[0], 200)


class PathsFirst(HostsFirst):
    config = {"apisix": {"router": {"http": "radixtree_uri"}}}

    def test_the_host_decides_before_the_path_in_every_spelling(self):
        self.put_competitors()
        for host in self.SPELLINGS + ("c.other",):
            self.assertEqual(self.picked(host, "/v1/deep/x"), "three", host)
        self.assertEqual(self.picked("b.t.test", "/v1/x"), "one")
        self.assertEqual(self.picked("a.t.test", "/v1/x"), "one")
        for host in self.SPELLINGS:
            self.assertEqual(self.picked(host, "/v2"), "two", host)


class Targets(GatewayTest):
    workers = 1
    QUERY = "a=1&b=%7E&b=2&c&d=&%61=x%2Fy&e=%zz&f==&&g=+"

    def sent(self, target):
        status, body = raw(self.gateway.ports["proxy"], target, "h.test")
        self.assertEqual(status, 200, body)
        return self.origin.requests[-1][1]

    def test_the_query_arrives_as_it_was_sent_in_every_mode(self):
        modes = {
            "plain": ({}, "/f/g"),
            "real": ({"use_real_request_uri_unsafe": True}, "/f%2Fg"),
            "real-uri": ({"use_real_request_uri_unsafe": True, "uri": "/g"}, "/g"),
            "uri": ({"uri": "/g"}, "/g"),
            "regex": ({"regex_uri": ["^/f/(.*)", "/r/$1"]}, "/r/g"),
            "headers": ({"headers": {"set": {"X-A": "1"}}}, "/f/g"),
        }
        for name, (rewrite, _) in modes.items():
            plugins = {"proxy-rewrite": rewrite} if rewrite else {}
            self.gateway.put("/routes/" + name, {**self.route("/*", plugins=plugins), "vars": [["http_host", "==", name]]})
        for name, (rewrite, path) in modes.items():
            for query in (self.QUERY, "x", ""):
                tail = "?" + query if query else ""
                status, _ = raw(self.gateway.ports["proxy"], "/f%2Fg" + tail, name)
                self.assertEqual(status, 200)
                got = self.origin.requests[-1][1]
                if name in ("plain", "headers"):  # an untouched path may keep its own spelling
                    self.assertIn(got, (path + tail, "/f%2Fg" + tail), name)
                else:
                    self.assertEqual(got, path + tail, name)

    def test_the_real_target_goes_on_byte_for_byte(self):
        rewrite = {"proxy-rewrite": {"use_real_request_uri_unsafe": True}}
        self.gateway.put("/routes/1", self.route("/*", plugins=rewrite))
        for target in ("/f%2Fg?" + self.QUERY, "/a//b/./c/../d?x", "/%7e%41?", "/a;b=c,d@e:f", "/x?y=/../z?&"):
            self.assertEqual(self.sent(target), target)


del Routes  # a base, not a test


if __name__ == "__main__":
    unittest.main()
