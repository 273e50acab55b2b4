"""Somebody who follows the guide: a shell in an empty directory, on a data directory and ports of his own."""

import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from tests.acceptance.running import SECONDS, Installation, free_ports
from tests.acceptance.servers import ROOT
from tests.docs.blocks import Block, matches

# A report starts Spark, and a busy machine takes its time.
LONGEST_SECONDS = 1800.0
# What he exports is there in the next block.
SHELL = "[ -f exported ] && . ./exported\n{text}\nexport -p > exported"


@dataclass(frozen=True)
class Reader:
    place: Path
    broker: Installation

    def follow(self, block: Block) -> None:
        """Do what it says, and see that what it says comes of it."""
        said, deadline = self.run(block.text), time.monotonic() + SECONDS
        while block.is_look and not self.shows(block, said) and time.monotonic() < deadline:
            time.sleep(0.2)
            said = self.run(block.text)
        assert self.shows(block, said), f"{block.page}:\n{block.text}\n{said}"

    def shows(self, block: Block, said: str) -> bool:
        return matches(said, self.own(block.output))

    def run(self, text: str) -> str:
        script = SHELL.format(text=self.own(text))
        with (self.place / "said").open("w+") as said, (self.place / "errors").open("w+") as errors:
            # Files, not pipes: what goes on in the background would keep a pipe open.
            done = subprocess.run(
                ["bash", "-euo", "pipefail", "-c", script],
                cwd=self.place,
                env=self.environment,
                check=False,
                stdin=subprocess.DEVNULL,
                stdout=said,
                stderr=errors,
                timeout=LONGEST_SECONDS,
            )
            assert done.returncode == 0, f"{text}\n{(self.place / 'errors').read_text()}"
            return (self.place / "said").read_text()

    def own(self, text: str) -> str:
        """With his own ports and his own key instead of the page's."""
        text = re.sub(r"\b800([0-9])\b", lambda port: str(self.broker.port + int(port[1])), text)
        text = text.replace("./broker up", f"./broker up --port {self.broker.port}")
        return re.sub(r"\bAPI_KEY=bk_…", "API_KEY=$API_KEY", text)

    @property
    def environment(self) -> dict[str, str]:
        """His python3 has the client installed."""
        environment = self.broker.environment
        path = f"{Path(sys.executable).parent}:{environment['PATH']}"
        return {**environment, "PATH": path, "PYTHONPATH": str(ROOT), "BROKER_API_KEY": ""}


@contextmanager
def reading() -> Iterator[Reader]:
    """Stopped at the end with all that was started, whatever a page left."""
    with tempfile.TemporaryDirectory(prefix="broker-guide-") as name:
        place = Path(name).resolve()
        # Run by root, PostgreSQL is another account's process, which must get in.
        place.chmod(0o755)
        reader = Reader(place, Installation(place / ".broker", free_ports()))
        _lay_out(reader)
        try:
            yield reader
        finally:
            reader.broker.call("down")
            _end(reader.broker)


def _lay_out(reader: Reader) -> None:
    """The checkout, as far as pages name it."""
    (reader.place / "broker").symlink_to(ROOT / "broker")
    snippets = reader.place / "docs" / "snippets"
    shutil.copytree(ROOT / "docs" / "snippets", snippets)
    for path in filter(Path.is_file, snippets.iterdir()):
        path.write_text(reader.own(path.read_text()))


def _end(broker: Installation) -> None:
    """What a page left in the background, too."""
    for process in broker.processes() if broker.data_dir.exists() else []:
        try:
            process.kill()
        except psutil.NoSuchProcess:
            continue
