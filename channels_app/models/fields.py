"""A column whose text is sealed on its way to the database and opened on its way back."""

import secrets
from functools import cache
from typing import Any

from django.conf import settings
from django.db import models

from broker_project.lib.sealing import Sealer


@cache
def sealer() -> Sealer:
    return Sealer(settings.TOKEN_KEYS)


def new_token() -> str:
    return secrets.token_urlsafe(24)


class SealedField(models.TextField):  # type: ignore[type-arg]
    """Encrypted at rest: the row's text is of no use without the keys in TOKEN_KEYS."""

    def get_prep_value(self, value: Any) -> Any:
        return sealer().seal(value) if value is not None else None

    def from_db_value(self, value: str | None, _expression: Any, _connection: Any) -> str | None:
        return sealer().unseal(value) if value is not None else None
