"""An API key opens the management API. Only its hash is kept."""

import hashlib
import secrets
from typing import Any, Self

from django.conf import settings
from django.db import models
from django.db.models.functions import Now

PREFIX = "bk_"


def hash_key(key: str) -> str:
    """A plain hash will do: the key is random and long, there is nothing to guess."""
    return hashlib.sha256(key.encode()).hexdigest()


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def live(self) -> Self:
        return self.filter(revoked_at__isnull=True)

    def issue(self, *, name: str, created_by: Any = None) -> tuple["ApiKey", str]:
        """A new key and its text, which cannot be read again."""
        text = PREFIX + secrets.token_urlsafe(32)
        return self.create(name=name, hint=text[:7], hash=hash_key(text), created_by=created_by), text

    def revoke(self) -> int:
        return self.live().update(revoked_at=Now())

    def mark_used(self) -> int:
        return self.update(last_used_at=Now())


class ApiKey(models.Model):
    name = models.CharField(max_length=255)
    hint = models.CharField("begins with", max_length=16, editable=False)
    hash = models.CharField(max_length=64, unique=True, editable=False)
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, editable=False
    )
    last_used_at = models.DateTimeField(null=True, editable=False)
    revoked_at = models.DateTimeField(null=True, editable=False)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        db_table = "api_key"
        verbose_name = "API key"

    def __str__(self) -> str:
        return self.name
