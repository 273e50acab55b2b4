"""Writes the generated pages into docs/. A process of its own, as the command that calls it knows no Django."""

import sys

import django

# Pages read the schema, the reasons and the commands, all of which need the apps.
django.setup()

from broker_project.guide.pages import DOCS, write_all  # noqa: E402

if __name__ == "__main__":
    changed = write_all(DOCS)
    sys.stdout.writelines(f"wrote docs/{name}\n" for name in changed)
