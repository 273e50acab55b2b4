"""A mail server for tests: a real socket that speaks as much SMTP as a sender needs, and remembers what it got."""

import email
import email.policy
import socketserver
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from email.message import EmailMessage

OK = "250 OK"


@dataclass(frozen=True)
class Letter:
    to: list[str]
    mail: EmailMessage

    @property
    def text(self) -> str:
        return str(self.mail.get_content())


@dataclass
class PostOffice:
    port: int = 0
    letters: list[Letter] = field(default_factory=list)
    # What a command is answered with, where it is not the usual.
    answers: dict[str, Callable[[str], str]] = field(default_factory=dict)


class _Clerk(socketserver.StreamRequestHandler):
    office: PostOffice

    def handle(self) -> None:
        self._say("220 post office")
        to: list[str] = []
        for raw in self.rfile:
            line = raw.decode().strip()
            verb = line.split(" ")[0].upper()
            if verb == "RCPT":
                to.append(line.partition("<")[2].rstrip(">"))
            if verb == "DATA":
                self._take(to)
                to = []
                continue
            self._say(self._answer(verb, line))
            if verb == "QUIT":
                return

    def _take(self, to: list[str]) -> None:
        refusal = self._answer("DATA", "DATA")
        if refusal != OK:
            self._say(refusal)
            return
        self._say("354 go on")
        lines = iter(self.rfile.readline, b".\r\n")
        mail = email.message_from_bytes(b"".join(lines), policy=email.policy.default)
        assert isinstance(mail, EmailMessage)
        self.office.letters.append(Letter(to, mail))
        self._say(OK)

    def _answer(self, verb: str, line: str) -> str:
        usual = {"EHLO": "250 AUTH PLAIN LOGIN", "QUIT": "221 bye", "AUTH": "235 welcome"}.get(verb, OK)
        special = self.office.answers.get(verb)
        return special(line) if special else usual

    def _say(self, line: str) -> None:
        self.wfile.write(f"{line}\r\n".encode())


@contextmanager
def post_office() -> Iterator[PostOffice]:
    office = PostOffice()
    clerk = type("Clerk", (_Clerk,), {"office": office})
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), clerk) as server:
        server.daemon_threads = True
        office.port = server.server_address[1]
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield office
        server.shutdown()
