"""Reference: the commands of ./broker and of manage.py, from their own arguments."""

import argparse
from collections.abc import Iterator
from typing import Any

from django.apps import apps
from django.core.management import get_commands, load_command_class

from broker_project.cli.__main__ import parser
from broker_project.guide.table import table

HEAD = """# Commands

`./broker COMMAND --help` says the same. State lives in `.broker/`, or where `BROKER_DATA_DIR` says.
"""
MANAGE = """## Of manage.py

Run as `./broker manage NAME`, beside Django's own (`./broker manage help`). The database is started for it if need be.
"""
# What every command of Django takes.
SHARED = {"help", "version", "verbosity", "settings", "pythonpath", "traceback", "no_color", "force_color"}
SHARED |= {"skip_checks"}


def page() -> str:
    return "\n".join([HEAD, *_of_broker(), MANAGE, *_of_manage()])


def _of_broker() -> Iterator[str]:
    [commands] = [action for action in parser()._actions if isinstance(action, argparse._SubParsersAction)]
    for name, command in commands.choices.items():
        yield _section("##", f"broker {name}", command, command.description or "")


def _of_manage() -> Iterator[str]:
    ours = {config.name for config in apps.get_app_configs() if config.name.endswith("_app")}
    for name, app in sorted(get_commands().items()):
        if app in ours:
            command: Any = load_command_class(app, name)
            yield _section("###", name, command.create_parser("manage.py", name), command.help)


def _section(level: str, title: str, command: argparse.ArgumentParser, text: str) -> str:
    rows = [_row(action) for action in command._actions if _is_shown(action)]
    return f"{level} {title}\n\n{text.strip()}\n" + (f"\n{table(('argument', 'meaning'), rows)}" if rows else "")


def _is_shown(action: argparse.Action) -> bool:
    """What has no sentence of its own is told in the command's description."""
    return action.dest not in SHARED and action.help not in (None, "", argparse.SUPPRESS)


def _row(action: argparse.Action) -> tuple[str, str]:
    value = "" if action.nargs == 0 else _value(action)
    words = f"{', '.join(action.option_strings)} {value}".strip() if action.option_strings else value
    return f"`{words}`", (action.help or "") % {"default": action.default, "prog": "broker"}


def _value(action: argparse.Action) -> str:
    metavar = action.metavar or (action.dest.upper() if action.option_strings else action.dest)
    return metavar if isinstance(metavar, str) else " ".join(metavar)
