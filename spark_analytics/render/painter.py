"""Draws pictures in a process of its own: the library holds Python's lock for as long as it draws.

Reads from its standard input, a line each, which specification to draw into which file.
"""

import json
import sys
from pathlib import Path

import vl_convert


def main() -> None:
    for line in sys.stdin:
        told = json.loads(line)
        spec = json.loads(Path(told["spec"]).read_text())
        Path(told["png"]).write_bytes(vl_convert.vegalite_to_png(spec, vl_version=told["version"], scale=2))


if __name__ == "__main__":
    main()
