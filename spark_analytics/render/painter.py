"""Draws pictures in a process of its own: the library holds Python's lock for as long as it draws.

It is told for which version of Vega-Lite; then it reads from its standard input, a line each, which specification to
draw into which file.
"""

import json
import sys
from pathlib import Path
from typing import Any

import vl_convert

NOTHING: dict[str, Any] = {"data": {"values": []}, "mark": "point", "encoding": {}}


def main(version: str) -> None:
    # The first picture takes half a second longer than the others: it is drawn while there is nothing to draw yet.
    _png(NOTHING, version)
    for line in sys.stdin:
        told = json.loads(line)
        Path(told["png"]).write_bytes(_png(json.loads(Path(told["spec"]).read_text()), version))


def _png(spec: dict[str, Any], version: str) -> bytes:
    return vl_convert.vegalite_to_png(spec, vl_version=version, scale=2)


if __name__ == "__main__":
    main(sys.argv[1])
