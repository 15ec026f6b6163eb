"""Plugins that meet in one request: of several copies one takes effect, and `_meta` is honoured."""
import unittest

from gateway import GatewayTest


def limit(count, **more):
    return {"count": count, "time_window": 600, "rejected_code": 429, **more}


class Copies(GatewayTest):
    def test_from_access_on_only_the_consumers_copy_takes_effect(self):
        self.gateway.put("/consumers", {"username": "jack", "plugins": {
            "key-auth": {"key": "k1"},
            "limit-count": limit(3, key="remote_addr"),
            "proxy-rewrite": {"headers": {"add": {"X-Copy": "consumer"}}},
            "response-rewrite": {"headers": {"add": ["X-Only: consumer"]}}}})
        self.gateway.put("/routes/1", self.route("/a", plugins={
            "key-auth": {},
            "limit-count": limit(10, key="all", key_type="constant"),
            "proxy-rewrite": {"headers": {"add": {"X-Copy": "route"}}}}))
        answers = [self.gateway.proxy("/a", headers={"apikey": "k1"}) for _ in range(4)]
        self.assertEqual([a.status for a in answers], [200, 200, 200, 429])
        self.assertEqual([a.headers.get_all("X-RateLimit-Limit") for a in answers], [["3"]] * 4)
        self.assertEqual([a.headers["X-RateLimit-Remaining"] for a in answers], ["2", "1", "0", "0"])
        self.assertEqual(answers[0].headers.get_all("X-Only"), ["consumer"])
        # Rewrite runs before the consumer is known: the route's copy has run, and no copy runs twice.
        for _, _, headers, _ in self.origin.requests:
            self.assertEqual(headers.get_all("X-Copy"), ["route"])

    def test_what_only_the_consumer_has_runs_once_with_its_rewrite_step(self):
        self.gateway.put("/consumers", {"username": "jack", "plugins": {
            "key-auth": {"key": "k1"}, "proxy-rewrite": {"headers": {"add": {"X-Copy": "consumer"}}}}})
        self.gateway.put("/routes/1", self.route("/a", plugins={"key-auth": {}}))
        self.assertEqual(self.gateway.proxy("/a", headers={"apikey": "k1"}).status, 200)
        self.assertEqual(self.origin.requests[-1][2].get_all("X-Copy"), ["consumer"])


class Meta(GatewayTest):
    BOT = {"User-Agent": "bot"}

    def bots(self, count):
        return [self.gateway.proxy("/a", headers=self.BOT).status for _ in range(count)]

    def put(self, **meta):
        limiter = limit(2, key="remote_addr")
        if meta:
            limiter["_meta"] = meta
        self.gateway.put("/routes/1", self.route("/a", plugins={"ua-restriction": {"denylist": ["bot"], "bypass_missing": True},
                                                                "limit-count": limiter}))

    def test_a_priority_of_its_own_moves_a_plugin_in_its_phase(self):
        self.put()
        self.assertEqual(self.bots(3), [403] * 3)
        self.put(priority=9000)
        self.assertEqual(self.bots(3), [403, 403, 429])

    def test_cors_answers_preflights_before_the_access_phase_whatever_the_priority(self):
        # They are answered in rewrite; priorities order plugins inside a phase.
        self.gateway.put("/routes/1", self.route("/a", plugins={
            "cors": {}, "limit-count": limit(2, key="remote_addr", _meta={"priority": 9000})}))
        asks = {"Origin": "http://x.test", "Access-Control-Request-Method": "GET"}
        self.assertEqual([self.gateway.proxy("/a", "OPTIONS", headers=asks).status for _ in range(4)], [200] * 4)
        self.assertEqual([self.gateway.proxy("/a").status for _ in range(3)], [200, 200, 429])

    def test_filter_and_disable_are_honoured_and_survive_patches(self):
        self.put(priority=9000, filter=[["http_user_agent", "==", "bot"]])
        patch = lambda body: self.assertEqual(self.gateway.admin("PATCH", "/routes/1", body).status, 200)
        patch({"labels": {"a": "1"}})
        self.assertEqual([self.gateway.proxy("/a").status for _ in range(4)], [200] * 4)
        self.assertEqual(self.bots(3), [403, 403, 429])
        patch({"plugins": {"limit-count": {"_meta": {"disable": True}}}})
        patch({"labels": {"a": "2"}})
        self.assertEqual(self.bots(3), [403] * 3)
        meta = self.gateway.admin("GET", "/routes/1").json()["value"]["plugins"]["limit-count"]["_meta"]
        self.assertEqual(meta, {"priority": 9000, "filter": [["http_user_agent", "==", "bot"]], "disable": True})


if __name__ == "__main__":
    unittest.main()
