"""What the families of commands share: how they take arguments, and how they tell a failure."""

import argparse
from collections.abc import Callable
from typing import TypeAlias

# Each family of commands adds itself to these.
Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"
Run: TypeAlias = Callable[[argparse.Namespace], int]


def port(text: str) -> int:
    """The web server's port; the two after it must be ports too."""
    number = int(text)
    if not 1 <= number <= 65533:
        raise argparse.ArgumentTypeError("must be between 1 and 65533")
    return number


def add_passing_on(commands: Commands, name: str, *, help: str, description: str, run: Run) -> None:
    """A command whose arguments, options included, all belong to the program it runs."""
    # No argument can begin with NUL, so none is taken for an option of ours.
    parser = commands.add_parser(name, prefix_chars="\0", add_help=False, help=help, description=description)
    parser.add_argument("arguments", nargs=argparse.REMAINDER, metavar="…")
    parser.set_defaults(run=run, parser=parser)


def asks_for_help(options: argparse.Namespace) -> bool:
    """For those commands: print our help if that is all that was asked."""
    if options.arguments not in (["-h"], ["--help"]):
        return False
    options.parser.print_help()
    return True


def explain(error: Exception) -> str:
    """A full disk or a closed folder, in words."""
    if isinstance(error, OSError) and error.strerror:
        return f"{error.strerror}: {error.filename}" if error.filename else error.strerror
    return str(error)
