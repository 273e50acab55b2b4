"""docs: the guide as a site. Its generated pages and the site are made by processes of their own."""

import argparse
import os
import sys
from pathlib import Path

from broker_project.cli import arguments, foreground
from broker_project.cli.surroundings import DEFAULT_SETTINGS, TOP

DESCRIPTION = """Build the guide into a directory that needs no network. Pages that come from the code are written anew
first. A link that leads nowhere stops it."""


def add_to(commands: arguments.Commands) -> None:
    parser = commands.add_parser("docs", help="build the guide", description=DESCRIPTION)
    parser.add_argument("--out", type=Path, default=TOP / "site", help="the directory to write (site)")
    parser.add_argument("--serve", action="store_true", help="then serve it on this machine, until Ctrl-C")
    parser.add_argument("--port", type=arguments.port, default=8010, help="where --serve listens (%(default)s)")
    parser.set_defaults(run=_docs)


def _docs(options: argparse.Namespace) -> int:
    site = str(options.out.resolve())
    code = _python("-m", "broker_project.guide") or _python("-m", "mkdocs", "--quiet", "build", "--strict", "-d", site)
    if code or not options.serve:
        return code or _say(f"The guide is in {site}: open index.html, or serve it with --serve.")
    _say(f"The guide is at http://127.0.0.1:{options.port}/ until Ctrl-C.")
    return _python("-m", "http.server", "--bind", "127.0.0.1", "--directory", site, str(options.port))


def _say(text: str) -> int:
    print(text, flush=True)
    return 0


def _python(*words: str) -> int:
    """At the top, where mkdocs.yml is."""
    # The theme's advice about another generator is nobody's business here.
    own = {"PYTHONPATH": str(TOP), "DJANGO_SETTINGS_MODULE": DEFAULT_SETTINGS, "NO_MKDOCS_2_WARNING": "1"}
    return foreground.run([sys.executable, *words], {**os.environ, **own}, cwd=TOP)
