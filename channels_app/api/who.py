"""Who is asking, for the record."""

from rest_framework.request import Request

from channels_app.api.authentication import KeyHolder
from channels_app.models import ApiKey

MAX_WHO = 255


def who(request: Request) -> str:
    """The key by its first letters, which are shown in the admin too, or the member of staff."""
    if isinstance(request.auth, KeyHolder):
        key = ApiKey.objects.get(pk=request.auth.key_id)
        return f"api key {key.hint} ({key.name})"[:MAX_WHO]
    return str(request.user.get_username())
