"""docs/dapr-grpc.md is true: its program runs against a running broker, and prints what the page says."""

import re
import subprocess
import sys
from pathlib import Path

from tests.acceptance.dapr import THREE_COMPONENTS
from tests.acceptance.dapr_door import opened
from tests.acceptance.engine import Engine
from tests.acceptance.servers import ROOT

PAGE = (ROOT / "docs" / "dapr-grpc.md").read_text()
BLOCKS = dict(re.findall(r"^```(\w+)\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL))


def test_the_program_of_the_page_prints_what_the_page_says(engine: Engine, tmp_path: Path) -> None:
    with opened(engine, THREE_COMPONENTS + "---\n" + BLOCKS["yaml"]) as door:
        (tmp_path / "shop.py").write_text(BLOCKS["python"])
        told = {
            "DAPR_GRPC_ENDPOINT": door.address,
            "DAPR_HTTP_ENDPOINT": door.health,
            "DAPR_API_TOKEN": door.key,
        }
        done = subprocess.run(
            [sys.executable, "shop.py"],
            cwd=tmp_path,
            env={**engine.broker.environment, **told},
            check=False,
            capture_output=True,
            text=True,
            timeout=120,
        )
    assert done.stdout == BLOCKS["text"], done.stderr
    assert all(f"export {name}=" in BLOCKS["sh"] for name in told)
