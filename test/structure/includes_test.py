#!/usr/bin/env python3
"""The include checker finds nothing in the tree, and finds each kind of crossing in a bad sample."""
import os
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CHECK = os.path.join(ROOT, "scripts", "check_includes")
BAD = {
    "shm/a.cpp": "conf/base/json.hpp",
    "conf/a.cpp": "shm/dict.hpp",
    "plugins/echo/a.cpp": "plugins/redirect/redirect.hpp",
    "plugins/sdk/a.cpp": "plugins/echo/echo.hpp",
    "plugins/echo/b.cpp": "worker/io/reactor.hpp",
    "worker/io/a.cpp": "admin/api/crud.hpp",
    "admin/api/a.cpp": "worker/exchange/exchange.hpp",
    "admin/api/b.cpp": "master/supervisor.hpp",
}


def run(root):
    p = subprocess.run([sys.executable, CHECK, root], capture_output=True, text=True)
    return p.returncode, p.stdout


def main():
    code, out = run(ROOT)
    assert code == 0, out
    with tempfile.TemporaryDirectory() as root:
        for path, target in BAD.items():
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w") as f:
                f.write('#include "%s"\n#include "shm/dict.hpp"\n' % target if path.startswith(("plugins", "worker", "admin"))
                        else '#include "%s"\n' % target)
        code, out = run(root)
        assert code == 1, out
        for path, target in BAD.items():
            assert "%s:1: includes %s" % (path, target) in out, (path, out)
        assert len(out.splitlines()) == len(BAD) + 1, out
    print("ok")


if __name__ == "__main__":
    main()
