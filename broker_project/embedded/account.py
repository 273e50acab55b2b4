"""Who the embedded services run as: PostgreSQL refuses root, so root hands them to an account without rights."""

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from broker_project.lib.errors import BrokerError

# What the services see of the caller's environment: none of its PG… variables, which would move port or data.
ENVIRONMENT = {"PATH": os.defpath, "LC_ALL": "C"}


class NoServiceAccount(BrokerError):
    """PostgreSQL does not run as root, and this machine has neither a user postgres nor a user nobody."""


@dataclass(frozen=True)
class Account:
    uid: int
    gid: int
    is_other: bool

    @property
    def run_as(self) -> dict[str, Any]:
        """The arguments of subprocess that make a child run as this account."""
        return {"user": self.uid, "group": self.gid, "extra_groups": []} if self.is_other else {}

    def give(self, path: Path) -> None:
        if self.is_other:
            os.chown(path, self.uid, self.gid)

    def can(self, what: str, path: Path) -> bool:
        """Asked of the kernel as that account (`test -r`, `test -x`): modes, ACLs and every folder above count."""
        return not self.is_other or not subprocess.call(["test", what, str(path)], cwd="/", **self.run_as)


def caller() -> Account:
    return Account(os.geteuid(), os.getegid(), is_other=False)


def service_account() -> Account:
    if os.geteuid() != 0:
        return caller()
    accounts = {entry.pw_name: entry for entry in pwd.getpwall()}
    entry = accounts.get("postgres") or accounts.get("nobody")
    if entry is None:
        raise NoServiceAccount
    return Account(entry.pw_uid, entry.pw_gid, is_other=True)
