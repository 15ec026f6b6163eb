#!/usr/bin/env python3
"""Paired, interleaved load runs: this gateway beside nginx, HAProxy and the smallest relay.

Every proxy runs one worker pinned to the first CPU; the origin and the load generator share the second one. Windows of the
proxies alternate (A B C A B C …). What is compared is the CPU of the worker per request, from the scheduler's own
nanosecond counter (/proc/PID/task/*/schedstat), as the ratio to nginx in the adjacent window; medians and spread.

    scripts/bench [scenario…] [--rounds N] [--seconds S] [--list]
"""
import argparse
import datetime
import json
import os
import re
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, HERE)
from scenarios import SCENARIOS                                             # noqa: E402

KEY = "bench"
UPGRADE_ECHO = os.path.join(ROOT, "build/release/perf/upgrade_echo")
HEADERS = ["User-Agent: bench/1.0 (paired runs)", "Accept: */*", "Accept-Encoding: identity",
           "X-Request-Trace: 0123456789abcdef0123456789abcdef", "Cookie: session=abcdefghijklmnopqrstuvwxyz012345"]
PORTS = {"sluice": 19080, "nginx": 19081, "haproxy": 19082, "floor": 19083, "origin": 19090, "admin": 19180}


def cpus():
    allowed = sorted(os.sched_getaffinity(0))
    return allowed[0], allowed[-1]


def cpu_ns(pid):
    total = 0
    for task in os.listdir("/proc/%d/task" % pid):
        with open("/proc/%d/task/%s/schedstat" % (pid, task)) as f:
            total += int(f.read().split()[0])
    return total


def rss_kib(pid):
    with open("/proc/%d/status" % pid) as f:
        return int(re.search(r"VmRSS:\s+(\d+)", f.read()).group(1))


def percentile(values, p):
    return values[min(len(values) - 1, int(p / 100 * len(values)))] if values else float("nan")


class Bench:
    def __init__(self, work):
        self.work = work
        self.processes = []
        self.workers = {}          # name -> pids of its workers
        self.server_cpu, self.load_cpu = cpus()

    def spawn(self, args, cpu=None, **kw):
        pre = ["taskset", "-c", str(cpu)] if cpu is not None else []
        p = subprocess.Popen(pre + args, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **kw)
        self.processes.append(p)
        return p

    def stop(self):
        for p in reversed(self.processes):
            p.terminate()
        for p in self.processes:
            try:
                p.wait(5)
            except subprocess.TimeoutExpired:
                p.kill()

    def wait_port(self, port):
        for _ in range(200):
            try:
                urllib.request.urlopen("http://127.0.0.1:%d/100" % port, timeout=1).read()
                return
            except OSError:
                time.sleep(0.05)
        for name in sorted(os.listdir(self.work)):
            if name.endswith(".err"):
                with open(os.path.join(self.work, name)) as f:
                    sys.stderr.write(f.read()[-2000:])
        raise SystemExit("bench: nothing answers on port %d" % port)

    def children_of(self, pid, count):
        for _ in range(100):
            with open("/proc/%d/task/%d/children" % (pid, pid)) as f:
                kids = [int(x) for x in f.read().split()]
            found = []
            for k in kids:
                with open("/proc/%d/cmdline" % k) as f:
                    if "worker" in f.read():
                        found.append(k)
            if len(found) == count:
                return found
            time.sleep(0.05)
        raise SystemExit("bench: not %d workers below pid %d" % (count, pid))

    def place(self, scenario):
        """The CPU of a proxy with one worker; more of them may run on all."""
        return self.server_cpu if scenario.get("workers", 1) == 1 else None

    def start_origin(self, scenario):
        if scenario.get("upgrade"):
            self.spawn([UPGRADE_ECHO, "origin", str(PORTS["origin"])], self.load_cpu)
            self.wait_port(PORTS["origin"])
            return
        conf = os.path.join(self.work, "origin.conf")
        for name, size in (("4k", 4096), ("100k", 102400), ("1m", 1 << 20)):
            with open(os.path.join(self.work, name), "w") as f:
                f.write("x" * size)
        with open(conf, "w") as f:
            f.write("worker_processes 1; daemon off; pid %s/origin.pid; error_log %s/origin.err;\n"
                    "events { worker_connections 8192; }\nhttp { access_log off; keepalive_requests 100000000;\n"
                    "client_body_temp_path %s/ob; keepalive_timeout 3600s;\n"
                    # On every address: the nodes of nodes-* are 127.0.0.1 to 127.0.0.200.
                    "server { listen %d backlog=4096; client_max_body_size 0; root %s;\n"
                    % (self.work, self.work, self.work, PORTS["origin"], self.work))
            f.write("open_file_cache max=16 inactive=3600s; sendfile on;\n"
                    "location = /100 { return 200 \"%s\"; }\n location /echo { return 200 ok; }\n"
                    # A filter that may change the length makes the answer chunked.
                    "location = /chunked { alias %s/4k; sub_filter none none; sub_filter_types *; }\n"
                    "location / { try_files $uri =404; }\n } }\n" % ("x" * 100, self.work))
        os.chmod(self.work, 0o755)
        self.spawn(["nginx", "-c", conf], self.load_cpu)
        self.wait_port(PORTS["origin"])

    def start_nginx(self, scenario):
        conf = os.path.join(self.work, "nginx.conf")
        log = "access_log %s/nginx.log combined buffer=16k;" % self.work if scenario.get("access_log") else "access_log off;"
        with open(conf, "w") as f:
            f.write("worker_processes %d; daemon off; pid %s/nginx.pid; error_log %s/nginx.err; worker_rlimit_nofile 16384;\n"
                    "events { worker_connections 8192; }\nhttp { %s keepalive_requests 100000000;\n"
                    "%s\nproxy_temp_path %s/np; client_body_temp_path %s/nb;\n"
                    "upstream o { server 127.0.0.1:%d; keepalive 320; keepalive_requests 100000000; }\n"
                    "server { listen 127.0.0.1:%d backlog=4096; client_max_body_size 0;\n"
                    "location / { %s proxy_pass http://o; proxy_http_version 1.1; %s\n"
                    "proxy_set_header Host $host; proxy_set_header X-Real-IP $remote_addr;\n"
                    "proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for; } } }\n"
                    % (scenario.get("workers", 1), self.work, self.work, log, scenario.get("nginx_http", ""), self.work,
                       self.work, PORTS["origin"], PORTS["nginx"], scenario.get("nginx_location", ""),
                       "proxy_set_header Connection upgrade; proxy_set_header Upgrade websocket;"
                       if scenario.get("upgrade") else "proxy_set_header Connection '';"))
        p = self.spawn(["nginx", "-c", conf], self.place(scenario))
        if not scenario.get("upgrade"):
            self.wait_port(PORTS["nginx"])
        self.workers["nginx"] = self.children_of(p.pid, scenario.get("workers", 1))

    def start_haproxy(self, scenario):
        if not shutil.which("haproxy"):
            return
        conf = os.path.join(self.work, "haproxy.cfg")
        with open(conf, "w") as f:
            f.write("global\n nbthread %d\n maxconn 8192\ndefaults\n mode http\n timeout client 60s\n timeout server 60s\n"
                    " timeout connect 5s\n timeout tunnel 60s\n option http-keep-alive\n option forwardfor\n"
                    "listen l\n bind 127.0.0.1:%d backlog 4096\n http-reuse always\n server o 127.0.0.1:%d\n"
                    % (scenario.get("workers", 1), PORTS["haproxy"], PORTS["origin"]))
        p = self.spawn(["haproxy", "-db", "-f", conf], self.place(scenario))
        self.wait_port(PORTS["haproxy"])
        self.workers["haproxy"] = [p.pid]

    def start_floor(self, scenario):
        binary = os.environ.get("SLUICE_FLOOR", os.path.join(ROOT, "build/release/perf/floor"))
        if not os.path.exists(binary) or scenario.get("workers", 1) != 1:
            return
        p = self.spawn([binary, str(PORTS["floor"]), str(PORTS["origin"])], self.server_cpu)
        self.wait_port(PORTS["floor"])
        self.workers["floor"] = [p.pid]

    def start_sluice(self, scenario):
        prefix = os.path.join(self.work, "sluice")
        os.makedirs(prefix, exist_ok=True)
        os.chmod(prefix, 0o755)
        conf = os.path.join(self.work, "sluice.yaml")
        log = "true" if scenario.get("access_log") else "false"
        with open(conf, "w") as f:
            f.write("apisix:\n  node_listen: [{ip: 127.0.0.1, port: %d}]\n  enable_control: false\n"
                    "deployment:\n  admin:\n    admin_listen: {ip: 127.0.0.1, port: %d}\n"
                    "nginx_config:\n  http:\n    enable_access_log: %s\n"
                    "plugin_attr:\n  prometheus:\n    export_addr: {ip: 127.0.0.1, port: 19091}\n"
                    "sluice:\n  worker_processes: %d\n  cpu_affinity: %s\n"
                    % (PORTS["sluice"], PORTS["admin"], log, scenario.get("workers", 1),
                       "'off'" if self.place(scenario) is None else "[%d]" % self.server_cpu))
        binary = os.environ.get("SLUICE_BINARY", os.path.join(ROOT, "build/release/sluice"))
        p = self.spawn([binary, "-c", conf, "-p", prefix], env=dict(os.environ, ADMIN_KEY=KEY))
        for _ in range(100):
            try:
                self.admin("GET", "/routes")
                break
            except OSError:
                time.sleep(0.05)
        nodes = {"127.0.0.1:%d" % PORTS["origin"]: 1}
        route = {"uri": "/*", "upstream": {"type": "roundrobin", "nodes": nodes, "keepalive_pool": {"requests": 100000000}}}
        for method, path, body in scenario.get("setup", []):
            self.admin(method, path, body)
        for key, value in scenario.get("route", {}).items():
            route[key] = value
        for i in range(scenario.get("others", 0)):
            self.admin("PUT", "/routes/%d" % i, {"uri": "/api/v1/tenant%d/*" % i, "upstream": route["upstream"]})
        self.admin("PUT", "/routes/bench", route)
        self.wait_port(PORTS["sluice"])
        self.workers["sluice"] = self.children_of(p.pid, scenario.get("workers", 1))

    def admin(self, method, path, body=None):
        data = json.dumps(body).encode() if body is not None else None
        r = urllib.request.Request("http://127.0.0.1:%d/apisix/admin%s" % (PORTS["admin"], path), data, method=method,
                                   headers={"X-API-KEY": KEY})
        return urllib.request.urlopen(r, timeout=30).read()

    def open_loop(self, who, rate, seconds):
        """Requests at a fixed rate, whatever the answers do: h2load over 50 connections. -> as window()"""
        log = os.path.join(self.work, "h2load.log")
        if os.path.exists(log):
            os.remove(log)
        clients, whole = min(50, rate), max(1, round(seconds))
        args = ["taskset", "-c", str(self.load_cpu), "h2load", "--h1", "-c%d" % clients, "-m1", "--rps=%g" % (rate / clients),
                "-D%d" % whole, "--log-file=" + log]
        for h in HEADERS:
            args += ["-H", h]
        before = self.spent(who)
        subprocess.run(args + ["http://127.0.0.1:%d/100" % PORTS[who]], capture_output=True)
        spent = self.spent(who) - before
        with open(log) as f:
            lines = [line.split() for line in f]
        took = sorted(float(x[2]) / 1000 for x in lines)
        errors = sum(x[1] != "200" for x in lines)
        return (spent / max(len(took), 1), len(took) / whole, percentile(took, 50), percentile(took, 99), errors)

    def spent(self, who):
        return sum(cpu_ns(pid) for pid in self.workers[who])

    def window(self, who, scenario, seconds):
        """-> (ns of CPU per request, requests per second, p50 ms, p99 ms, errors)"""
        if "rate" in scenario:
            return self.open_loop(who, scenario["rate"], seconds)
        lua = scenario.get("lua")
        connections = scenario.get("connections", 64)
        args = ["taskset", "-c", str(self.load_cpu), "wrk", "-t1", "-c%d" % connections, "-d%gs" % seconds, "--latency",
                "--timeout", "10s"]
        for h in HEADERS:
            args += ["-H", h]
        if lua:
            path = os.path.join(self.work, "wrk.lua")
            with open(path, "w") as f:
                f.write(lua)
            args += ["-s", path]
        args.append("http://127.0.0.1:%d%s" % (PORTS[who], scenario.get("path", "/100")))
        if scenario.get("upgrade"):
            args = ["taskset", "-c", str(self.load_cpu), UPGRADE_ECHO, "load", str(PORTS[who]), str(connections), str(seconds)]
        before = self.spent(who)
        out = subprocess.run(args, capture_output=True, text=True).stdout
        spent = self.spent(who) - before
        m = re.search(r"(\d+) requests in ([\d.]+)(\w+)", out)
        n = int(m.group(1)) if m else 0

        def latency(p):
            x = re.search(r"\s%s%%\s+([\d.]+)(us|ms|s)" % p, out)
            return float(x.group(1)) * {"us": 0.001, "ms": 1, "s": 1000}[x.group(2)] if x else float("nan")
        errors = sum(int(x) for x in re.findall(r"Non-2xx or 3xx responses: (\d+)", out))
        rate = re.search(r"Requests/sec:\s+([\d.]+)", out)
        return spent / max(n, 1), float(rate.group(1)) if rate else 0.0, latency(50), latency(99), errors


def run_scenario(name, scenario, rounds, seconds):
    work = tempfile.mkdtemp(prefix="sluice-bench-")
    bench = Bench(work)
    try:
        bench.start_origin(scenario)
        bench.start_nginx(scenario)
        bench.start_haproxy(scenario)
        bench.start_floor(scenario)
        bench.start_sluice(scenario)
        who = [w for w in ("nginx", "haproxy", "floor", "sluice") if w in bench.workers]
        rows = {w: [] for w in who}
        for w in who:
            bench.window(w, scenario, 0.5)
        for _ in range(rounds):
            for w in who:
                rows[w].append(bench.window(w, scenario, seconds))
        rss = {w: sum(map(rss_kib, bench.workers[w])) for w in who}
        return rows, rss
    finally:
        bench.stop()
        shutil.rmtree(work, ignore_errors=True)


def table(name, rows, rss):
    lines = ["| %s | µs CPU/request | ratio to nginx (median, min-max) | requests/s | p50 ms | p99 ms | errors | RSS MiB |" % name,
             "|---|---|---|---|---|---|---|---|"]
    for w, r in rows.items():
        ratios = [a[0] / b[0] for a, b in zip(r, rows["nginx"])]
        med = statistics.median
        lines.append("| %s | %.2f | %.3f (%.3f-%.3f) | %.0f | %.3f | %.3f | %d | %.1f |" % (
            w, med(x[0] for x in r) / 1000, med(ratios), min(ratios), max(ratios), med(x[1] for x in r),
            med(x[2] for x in r), med(x[3] for x in r), sum(x[4] for x in r), rss[w] / 1024))
    return lines


def main():
    ap = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    ap.add_argument("scenario", nargs="*")
    ap.add_argument("--rounds", type=int, default=7)
    ap.add_argument("--seconds", type=float, default=3)
    ap.add_argument("--list", action="store_true")
    ap.add_argument("--no-record", action="store_true")
    a = ap.parse_args()
    if a.list:
        for n, s in SCENARIOS.items():
            print("%-20s %s" % (n, s["about"]))
        return 0
    names = a.scenario or list(SCENARIOS)
    unknown = [n for n in names if n not in SCENARIOS]
    if unknown:
        print("bench: unknown scenario %s (see --list)" % ", ".join(unknown), file=sys.stderr)
        return 2
    commit = subprocess.run(["git", "-C", ROOT, "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    with open("/proc/cpuinfo") as f:
        model = re.search(r"model name\s*: (.*)", f.read())
    head = ["", "## %s · commit %s · %s, %d CPUs · Linux %s" % (
        datetime.date.today(), commit, model.group(1) if model else "unknown CPU", os.cpu_count(), os.uname().release),
        "%d rounds of %g s windows, interleaved." % (a.rounds, a.seconds), ""]
    out = []
    for n in names:
        lines = table(n, *run_scenario(n, SCENARIOS[n], a.rounds, a.seconds))
        print("\n".join(lines) + "\n", flush=True)
        out += lines + [""]
    if not a.no_record:
        with open(os.path.join(ROOT, "perf", "RESULTS.md"), "a") as f:
            f.write("\n".join(head + out))
    return 0


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *x: sys.exit(1))
    sys.exit(main())
