"""Signs a superuser in, and says the cookie that shows it."""

import json

import django

django.setup()

from django.conf import settings
from django.contrib.auth import get_user_model
from django.test import Client


def main() -> None:
    user, _ = get_user_model().objects.get_or_create(username="bench", is_staff=True, is_superuser=True)
    client = Client()
    client.force_login(user)
    name = settings.SESSION_COOKIE_NAME
    print(json.dumps({"cookie": f"{name}={client.cookies[name].value}"}))


if __name__ == "__main__":
    main()
