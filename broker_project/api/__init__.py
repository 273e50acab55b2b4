"""HTTP manners shared by all apps: errors, pages, health, the ASGI frame. No models here."""
