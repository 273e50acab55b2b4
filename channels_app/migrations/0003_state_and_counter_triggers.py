"""State rows come with the registry's rows, and counts are kept by the statements that change them."""

from django.db import migrations

STATE = """
CREATE FUNCTION make_channel_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO channel_state (channel_id) VALUES (NEW.id); RETURN NULL; END $$;
CREATE FUNCTION make_consumer_state() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO consumer_state (consumer_id) VALUES (NEW.id); RETURN NULL; END $$;
CREATE TRIGGER make_state AFTER INSERT ON channel FOR EACH ROW EXECUTE FUNCTION make_channel_state();
CREATE TRIGGER make_state AFTER INSERT ON consumer FOR EACH ROW EXECUTE FUNCTION make_consumer_state();
INSERT INTO channel_state (channel_id) SELECT id FROM channel;
INSERT INTO consumer_state (consumer_id) SELECT id FROM consumer;
"""
NO_STATE = """
DROP TRIGGER make_state ON consumer;
DROP TRIGGER make_state ON channel;
DROP FUNCTION make_consumer_state();
DROP FUNCTION make_channel_state();
"""

# What a row counts as. The same columns for both tables, so that one counter table serves.
MESSAGE = "1 AS kind, channel_id, 0 AS consumer_id, status, '' AS reason"
JOB = "2 AS kind, channel_id, consumer_id, status, coalesce(reason, '') AS reason"


def count(table: str, columns: str) -> migrations.RunSQL:
    """One delta row per group and statement: a batch of a thousand costs as much as one.

    A transition table cannot be filtered by UPDATE OF; what did not move adds up to nothing and is left out.
    """
    add = f"SELECT {columns}, 1 AS n FROM fresh"
    take = f"SELECT {columns}, -1 AS n FROM stale"
    bodies = {
        "INSERT": ("NEW TABLE AS fresh", add),
        "DELETE": ("OLD TABLE AS stale", take),
        "UPDATE": ("OLD TABLE AS stale NEW TABLE AS fresh", f"{add} UNION ALL {take}"),
    }
    forward, backward = "", ""
    for event, (tables, rows) in bodies.items():
        name = f"count_{table}_{event.lower()}"
        forward += f"""
        CREATE FUNCTION {name}() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            INSERT INTO counter_delta (kind, channel_id, consumer_id, status, reason, count)
            SELECT kind, channel_id, consumer_id, status, reason, sum(n) FROM ({rows}) AS moved
            GROUP BY kind, channel_id, consumer_id, status, reason HAVING sum(n) <> 0;
            RETURN NULL;
        END $$;
        CREATE TRIGGER {name} AFTER {event} ON {table} REFERENCING {tables}
        FOR EACH STATEMENT EXECUTE FUNCTION {name}();
        """
        backward += f"DROP TRIGGER {name} ON {table}; DROP FUNCTION {name}();"
    return migrations.RunSQL(forward, backward)


class Migration(migrations.Migration):
    dependencies = [("channels_app", "0002_registry_version_triggers")]

    operations = [
        migrations.RunSQL(STATE, NO_STATE),
        count("message", MESSAGE),
        count("delivery_job", JOB),
    ]
