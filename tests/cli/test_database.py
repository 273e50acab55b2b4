import pytest

from broker_project.cli.database import Database

EMBEDDED = "postgresql://broker@%2Ftmp%2Fbroker-1%2Fpg:5432/broker"


@pytest.mark.parametrize(
    ("url", "address", "password"),
    [
        (EMBEDDED, EMBEDDED, None),
        ("postgresql://me:p%40ss@db.example/x?sslmode=require", "postgresql://me@db.example/x?sslmode=require", "p@ss"),
        ("postgresql://db.example/x", "postgresql://db.example/x", None),
    ],
)
def test_a_password_is_not_on_the_command_line(url: str, address: str, password: str | None) -> None:
    assert Database(url).address == address
    assert Database(url).environment.get("PGPASSWORD") == password


def test_another_database_of_the_same_server_has_the_same_address_but_for_its_name() -> None:
    database = Database(EMBEDDED)
    assert (database.name, database.named("other").name) == ("broker", "other")
    assert database.named("other").url == EMBEDDED.removesuffix("broker") + "other"
