"""The scenarios of bench.py: what the load is, and what each proxy is told."""


def lua_post(size):
    return ('wrk.method = "POST"\nwrk.body = string.rep("x", %d)\n'
            'wrk.headers["Content-Type"] = "application/octet-stream"\n' % size)


LIMIT_REQ = {"rate": 10000000, "burst": 1000, "key": "remote_addr", "nodelay": True}
LIMIT_COUNT = {"count": 1000000000, "time_window": 60, "key": "remote_addr"}
LIMIT_CONN = {"conn": 100000, "burst": 0, "default_conn_delay": 0.1, "key": "remote_addr"}
NGINX_LIMIT = {"nginx_http": "limit_req_zone $binary_remote_addr zone=a:10m rate=1000000r/s;",
               "nginx_location": "limit_req zone=a burst=100000 nodelay;"}
FOUR = {"limit-req": LIMIT_REQ, "limit-count": LIMIT_COUNT, "proxy-rewrite": {"headers": {"set": {"X-Edge": "1"}}},
        "prometheus": {}}
EIGHT = dict(FOUR, **{"limit-conn": LIMIT_CONN, "request-id": {}, "ip-restriction": {"blacklist": ["10.9.9.0/24"]},
                      "response-rewrite": {"headers": {"set": {"X-Served": "1"}}}})
MANY = {"127.0.0.%d:19090" % (i + 1): 1 for i in range(200)}


def balancer(kind, **extra):
    return {"upstream": dict({"type": kind, "nodes": MANY, "keepalive_pool": {"requests": 100000000}}, **extra)}


SCENARIOS = {
    "plain": {"about": "GET, 100-byte answer, 64 connections"},
    "plain-8": {"about": "GET, 100-byte answer, 8 connections", "connections": 8},
    "plain-1000": {"about": "GET, 100-byte answer, 1,000 connections", "connections": 1000},
    "4k": {"about": "GET, 4 KiB answer", "path": "/4k"},
    "chunked": {"about": "GET, 4 KiB answer in chunks", "path": "/chunked"},
    "100k": {"about": "GET, 100 KiB answer", "path": "/100k"},
    "post-1k": {"about": "POST of 1 KiB", "path": "/echo", "lua": lua_post(1024)},
    "post-1m": {"about": "POST of 1 MiB", "path": "/echo", "lua": lua_post(1 << 20), "connections": 8},
    "access-log": {"about": "plain with access logs on", "access_log": True},
    "limit-req": dict({"about": "limit-req beside nginx's limit_req", "route": {"plugins": {"limit-req": LIMIT_REQ}}},
                      **NGINX_LIMIT),
    "limit-count": dict({"about": "limit-count beside nginx's limit_req",
                         "route": {"plugins": {"limit-count": LIMIT_COUNT}}}, **NGINX_LIMIT),
    "limit-conn": {"about": "limit-conn", "route": {"plugins": {"limit-conn": LIMIT_CONN}}},
    "routes-10000": {"about": "plain among 10,000 other routes", "others": 10000},
    "workers-2": {"about": "plain with two workers, which share both CPUs with the load", "workers": 2},
    "websocket": {"about": "messages of 64 octets over 64 upgraded connections", "upgrade": True,
                  "route": {"enable_websocket": True}},
    "open-100": {"about": "open loop, 100 requests a second", "rate": 100},
    "open-1000": {"about": "open loop, 1,000 requests a second", "rate": 1000},
    "open-10000": {"about": "open loop, 10,000 requests a second", "rate": 10000},
    "open-20000": {"about": "open loop, 20,000 requests a second", "rate": 20000},
    "prometheus-global": {"about": "prometheus as a global rule",
                          "setup": [("PUT", "/global_rules/1", {"plugins": {"prometheus": {}}})]},
    "count-and-metrics": dict({"about": "limit-count and prometheus beside nginx's limit_req, access logs on",
                               "access_log": True, "route": {"plugins": {"limit-count": LIMIT_COUNT, "prometheus": {}}}}, **NGINX_LIMIT),
    "plugins-1": {"about": "one plugin", "route": {"plugins": {"limit-req": LIMIT_REQ}}},
    "plugins-4": {"about": "four plugins", "route": {"plugins": FOUR}},
    "plugins-8": {"about": "eight plugins", "route": {"plugins": EIGHT}},
    "nodes-roundrobin": {"about": "200 nodes, roundrobin", "route": balancer("roundrobin")},
    "nodes-ewma": {"about": "200 nodes, ewma", "route": balancer("ewma")},
    "nodes-chash": {"about": "200 nodes, chash", "route": balancer("chash", key="remote_addr")},
    "nodes-least-conn": {"about": "200 nodes, least_conn", "route": balancer("least_conn")},
}
