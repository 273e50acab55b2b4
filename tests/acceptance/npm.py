"""Packages from npm that tests want: installed once, outside the repository."""

import os
import shutil
import subprocess
import uuid
from pathlib import Path

NPM, NODE = shutil.which("npm"), shutil.which("node")


def node_modules(package: str) -> Path:
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    cache = caches / "broker-tests" / package.replace("/", "-")
    if not (cache / "node_modules").exists():
        fresh = cache.with_name(f"{cache.name}-{uuid.uuid4().hex[:8]}")
        fresh.mkdir(parents=True)
        words = [str(NPM), "install", "--no-audit", "--no-fund", "--silent", "--ignore-scripts", package]
        subprocess.run(words, cwd=fresh, check=True, timeout=600)
        try:
            fresh.rename(cache)
        except OSError:
            # Another was faster.
            shutil.rmtree(fresh)
    return cache / "node_modules"
