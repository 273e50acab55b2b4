"""Every change to the registry raises its version, whoever makes it: the API, the admin, or psql."""

from django.db import migrations

# The version never falls, also when a backup is restored or the row was lost: it is at least the time.
RAISE = """
CREATE FUNCTION raise_registry_version() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO registry_version AS current (id, version)
    VALUES (1, extract(epoch FROM clock_timestamp()) * 1000000)
    ON CONFLICT (id) DO UPDATE SET version = greatest(current.version + 1, excluded.version);
    RETURN NULL;
END $$;
"""
DROP = "DROP FUNCTION raise_registry_version();"


def watch(table: str, update: str = "UPDATE") -> migrations.RunSQL:
    """A statement-level trigger. An update of an API key counts only where it opens or shuts something.

    BEFORE, so that the version's row is locked first by everybody: after the rows, two writers would deadlock.
    """
    return migrations.RunSQL(
        f"""
        CREATE TRIGGER raise_registry_version BEFORE INSERT OR {update} OR DELETE OR TRUNCATE ON {table}
        FOR EACH STATEMENT EXECUTE FUNCTION raise_registry_version();
        """,
        f"DROP TRIGGER raise_registry_version ON {table};",
    )


class Migration(migrations.Migration):
    dependencies = [("channels_app", "0001_initial")]

    operations = [
        migrations.RunSQL(RAISE, DROP),
        watch("channel"),
        watch("producer"),
        watch("consumer"),
        watch("api_key", update="UPDATE OF hash, revoked_at"),
    ]
