"""A repository as ./broker finds it: nothing installed, requirements that are empty, a stub of a command line."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
# What ./broker hands over to, standing in for the real command line.
STUB = 'import os, sys; print("handed over", os.getcwd(), sys.argv[1:], sep="|")\n'
TOOLS = ("dirname", "readlink", "sh", "env")


@dataclass(frozen=True)
class Tree:
    top: Path
    # A PATH with nothing but the tools that a POSIX system has, and what a test puts there.
    bin: Path

    def broker(self, *words: str, path: Path | None = None, cwd: Path | None = None, **environment: str) -> "Done":
        command = [str(path or self.top / "broker"), *words]
        environment = {"PATH": str(self.bin), "PIP_NO_INDEX": "1", **environment}
        return subprocess.run(command, cwd=cwd, env=environment, check=False, capture_output=True, text=True)

    def require(self, name: str, line: str) -> None:
        (self.top / "requirements" / f"{name}.txt").write_text(f"{line}\n")

    def python3(self, script: str, name: str = "python3") -> None:
        """Put a program on the PATH under python3's name."""
        (self.bin / name).write_text(f"#!/bin/sh\n{script}\n")
        (self.bin / name).chmod(0o755)


Done = subprocess.CompletedProcess[str]


def grow(directory: Path) -> Tree:
    tree = Tree(directory / "a tree", directory / "bin")
    cli = tree.top / "broker_project" / "cli"
    for folder in (cli, tree.top / "requirements", tree.bin):
        folder.mkdir(parents=True)
    for name in ("core", "spark", "dev", "docs", "constraints"):
        tree.require(name, "# nothing")
    for name in ("broker", "broker_project/cli/install.py"):
        shutil.copy(TOP / name, tree.top / name)
    (tree.top / "broker_project/__init__.py").touch()
    (cli / "__init__.py").touch()
    (cli / "__main__.py").write_text(STUB)
    for tool in TOOLS:
        (tree.bin / tool).symlink_to(shutil.which(tool) or tool)
    tree.python3(f'exec "{real_python()}" "$@"')
    return tree


def real_python() -> str:
    """The interpreter that .venv was made with."""
    return os.path.realpath(sys.executable)
