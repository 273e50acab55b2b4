"""The admin's login, at the same pace as other wrong credentials: a guess costs us a slow hash."""

from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from unfold.forms import AuthenticationForm

from broker_project.api.token_bucket import shared_bucket


class PacedLogin(AuthenticationForm):
    def clean(self) -> dict[str, Any]:
        rate = settings.REFUSALS_PER_MINUTE
        address = self.request.META.get("REMOTE_ADDR", "")
        wait = shared_bucket().take(f"login:{address}", per_second=rate / 60, burst=max(1, int(rate)))
        if wait:
            raise ValidationError(f"Too many tries. Wait {wait:.0f} seconds.", code="throttled")
        return super().clean()
