"""What the demo writes: a few lines, and one that changes in place on a terminal."""

import sys
from dataclasses import dataclass

# Where nobody watches, in a file or a pipe, the line comes so often only.
QUIET_SECONDS = 10


@dataclass(frozen=True)
class Places:
    """Where to look."""

    web: str
    flower: str
    data_dir: str


def opening(places: Places) -> str:
    admin = f"{places.web}/admin"
    return "\n".join(
        [
            "",
            "The demo is running. Where to look:",
            "",
            f"  Dashboard     {admin}/watch/",
            f"  Explorer      {admin}/watch/explorer/",
            f"  Dead letters  {admin}/dlq_app/deadletter/overview/",
            f"  For later     {admin}/scheduling_app/scheduledmessage/",
            f"  Flower        {places.flower}  (user admin, password in {places.data_dir}/secrets/flower_password)",
            "",
            "Log in with the password that the first ./broker up printed.",
            "./broker manage changepassword admin sets another.",
            "Ctrl-C stops the demo, not the broker.",
            "",
        ]
    )


def ending(verdict: str) -> str:
    stilled = "The demo is stopped. Its consumers and schedules are paused, so that the broker is quiet."
    on = "  ./broker demo            goes on"
    away = "  ./broker demo --remove   removes its channels and consumers; history stays"
    return "\n".join([verdict or stilled, "", on, away])


class Screen:
    def __init__(self) -> None:
        self._is_terminal = sys.stdout.isatty()
        self._open_line = False

    def say(self, text: str) -> None:
        self._write(("\n" if self._open_line else "") + text + "\n")
        self._open_line = False

    def update(self, line: str, number: int) -> None:
        if self._is_terminal:
            self._write(f"\r\x1b[K{line}")
            self._open_line = True
        elif number % QUIET_SECONDS == 0:
            self._write(line + "\n")

    def _write(self, text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()
