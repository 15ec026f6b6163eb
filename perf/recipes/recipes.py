#!/usr/bin/env python3
"""Recipes with a known result, run against the real gateway and judged: what a limit lets through is counted at the origin.

    scripts/build release sluice counting_origin && perf/recipes/recipes.py [recipe…] [--workers 1,2] [--seconds S] [--list]

A line per run: the figures, the load of the machine before and after, the longest time that it kept a sleeper waiting (ten
milliseconds are 1 % of a second), and whether the figures are within the bounds. Exit status 1 when one is not: repeat it
where the machine did other work.
"""
import argparse
import collections
import os
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "test", "integration"))
from gateway import Gateway, free_ports                                    # noqa: E402
import memory                                                              # noqa: E402


class Origin:
    def __init__(self, binary):
        self.port = free_ports(1)[0]
        self.process = subprocess.Popen([binary, str(self.port)], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"

    def stop(self):
        """Requests per full second: the first and the last second are cut, and gaps count as zero."""
        self.process.send_signal(signal.SIGTERM)
        counts = {int(a): int(b) for a, b in (line.split() for line in self.process.stdout.read().splitlines())}
        self.process.wait()
        return [counts.get(s, 0) for s in range(min(counts) + 1, max(counts))] if counts else []


class Sleeper(threading.Thread):
    """Sleeps a millisecond at a time and notes the longest oversleep: what the machine did to everybody."""

    def __init__(self):
        super().__init__(daemon=True)
        self.longest = 0.0
        self.start()

    def run(self):
        while True:
            before = time.monotonic()
            time.sleep(0.001)
            self.longest = max(self.longest, time.monotonic() - before - 0.001)


class Run:
    """One gateway and one origin; what wrk said about the answers."""

    def __init__(self, options, workers, config=None):
        self.origin = Origin(options.origin)
        self.gateway = Gateway(workers, {"nginx_config": {"error_log_level": "warn", "http": {"enable_access_log": False}},
                                         **(config or {})}, binary=options.binary)
        self.load_before = os.getloadavg()[0]
        self.gateway.start()

    def route(self, plugins, nodes=None, kind="roundrobin"):
        self.gateway.put("/routes/1", {"uri": "/*", "plugins": plugins, "upstream": {
            "type": kind, "nodes": nodes or {"127.0.0.1:%d" % self.origin.port: 1}}})

    def wrk(self, connections, seconds, pause_ms=0):
        self.sleeper = Sleeper()
        args = ["wrk", "-t2", "-c%d" % connections, "-d%ds" % seconds, "--timeout", "10s"]
        with tempfile.NamedTemporaryFile("w", suffix=".lua") as script:
            if pause_ms:
                script.write("function delay() return %d end\n" % pause_ms)
                script.flush()
                args += ["-s", script.name]
            said = subprocess.run(args + ["http://127.0.0.1:%d/" % self.gateway.ports["proxy"]], capture_output=True,
                                  text=True, check=True).stdout
        number = lambda pattern: sum(int(n) for n in re.findall(r"(\d+)", (re.findall(pattern, said) or [""])[0]))
        return {"answers": number(r"(\d+) requests in"), "refused": number(r"Non-2xx or 3xx responses: (\d+)"),
                "broken": number(r"Socket errors: (.*)")}

    def close(self):
        self.gateway.close()
        if self.origin.process.poll() is None:
            self.origin.process.kill()
            self.origin.process.wait()

    def load(self):
        return "load %.1f→%.1f, longest stall %.0f ms" % (self.load_before, os.getloadavg()[0], self.sleeper.longest * 1000)


def paced(options, workers, limit, connections, pause_ms, each, mean, refusals):
    """A rate that is always exceeded: what the origin sees in each second, and on average."""
    run = Run(options, workers)
    try:
        run.route({"limit-req": dict(limit, key="remote_addr")})
        said = run.wrk(connections, options.seconds or 30, pause_ms)
        seconds = run.origin.stop()
        rate = limit["rate"]
        average = sum(seconds) / len(seconds)
        good = (abs(average - rate) <= rate * mean and all(abs(s - rate) <= each for s in seconds)
                and said["broken"] == 0 and (refusals or said["refused"] == 0))
        offered = said["answers"] / (options.seconds or 30)
        return good, ("mean %.2f, least %d, most %d of %d full seconds; answered %.0f/s, refused %d, broken %d; %s" % (
            average, min(seconds), max(seconds), len(seconds), offered, said["refused"], said["broken"], run.load()))
    finally:
        run.close()


def req_3000(options, workers):
    """limit-req, rate 3000, burst 5000, 100 connections: 3,000 a second ± 0.1 %, each second ± 1 %, no refusal"""
    return paced(options, workers, {"rate": 3000, "burst": 5000}, 100, 0, each=30, mean=0.001, refusals=False)


def req_100(options, workers):
    """limit-req, rate 100, burst 300, 400 connections, ten times that offered: 100 ± 1 in each second"""
    # 300 connections are held back, 100 refused; those come again after 90 ms.
    return paced(options, workers, {"rate": 100, "burst": 300}, 400, 90, each=1, mean=0.01, refusals=True)


def req_100_flat(options, workers):
    """the same with whoever is refused coming again at once"""
    return paced(options, workers, {"rate": 100, "burst": 300}, 400, 0, each=1, mean=0.01, refusals=True)


def count_rules(options, workers):
    """limit-count with a rule whose quota is in the request: the fields count down, the sixth of five is refused"""
    run = Run(options, workers)
    try:
        run.route({"limit-count": {"rules": [{"count": "${http_count ?? 1000000000}", "time_window": 60,
                                              "key": "${host}:${uri}", "header_prefix": "one"}]}})
        fields = lambda a: (a.status, a.headers["X-one-RateLimit-Limit"], a.headers["X-one-RateLimit-Remaining"])
        plain = [fields(run.gateway.proxy("/plain")) for _ in range(3)]
        five = [fields(run.gateway.proxy("/five", headers={"Count": "5"})) for _ in range(6)]
        good = (plain == [(200, "1000000000", str(999999999 - i)) for i in range(3)]
                and five == [(200, "5", str(4 - i)) for i in range(5)] + [(503, "5", "0")])
        return good, "%s; %s" % (plain, five)
    finally:
        run.close()


def ewma_dead(options, workers):
    """200 nodes with ewma, one of them dead, 60 s: no error, and below 0.1 % of the attempts go to the dead one"""
    closed = socket.socket()   # bound, never listening: connections to it are refused
    closed.bind(("127.0.0.1", 0))
    dead = "127.0.0.1:%d" % closed.getsockname()[1]
    run = Run(options, workers, {"nginx_config": {"error_log_level": "error", "http": {
        "enable_access_log": True, "access_log": "logs/tries.log", "access_log_format": "$upstream_addr"}}})
    try:
        nodes = {"127.1.0.%d:%d" % (i, run.origin.port): 1 for i in range(1, 200)}
        run.route({}, {**nodes, dead: 1}, "ewma")
        said = run.wrk(50, options.seconds or 60)
        log = os.path.join(run.gateway.prefix, "logs", "tries.log")
        run.gateway.stop(signal.SIGQUIT)
        tries = collections.Counter()
        with open(log) as f:
            for line in f:
                tries.update(re.findall(r"[0-9.]+:[0-9]+", line))
        total, lost = sum(tries.values()), tries[dead]
        living = [tries[n] for n in nodes]
        good = 0 < total and lost <= 1 + total * 0.001 and said["refused"] == 0 and said["broken"] == 0
        return good, "%d attempts, %d to the dead node (%.4f %%), %d to %d to the others; errors %d, broken %d; %s" % (
            total, lost, 100.0 * lost / max(total, 1), min(living), max(living), said["refused"], said["broken"], run.load())
    finally:
        run.close()
        closed.close()


RECIPES = {"req-3000": req_3000, "req-100": req_100, "req-100-flat": req_100_flat, "count-rules": count_rules,
           "ewma-dead": ewma_dead, **memory.RECIPES}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipes", nargs="*", metavar="recipe")
    parser.add_argument("--workers", default="1,2")
    parser.add_argument("--seconds", type=int, help="in place of what the recipe says")
    parser.add_argument("--binary", default=os.path.join(ROOT, "build/release/sluice"))
    parser.add_argument("--origin", default=os.path.join(ROOT, "build/release/perf/counting_origin"))
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    if options.list:
        for name, recipe in RECIPES.items():
            print("%-14s %s" % (name, recipe.__doc__))
        return 0
    failed = 0
    for name in options.recipes or RECIPES:
        if name not in RECIPES:
            parser.error("no recipe %s; there are: %s" % (name, ", ".join(RECIPES)))
        for workers in map(int, options.workers.split(",")):
            good, figures = RECIPES[name](options, workers)
            failed += not good
            print("%-6s %-13s %d worker%s: %s" % ("ok" if good else "FAILED", name, workers, "s" if workers > 1 else "", figures),
                  flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
