"""The image: not root, made of files that exist, and able to run without what it leaves out."""

import json
import re
import subprocess
import sys
import tomllib

import pytest

from broker_project.api import health
from tests.deploy.compose import OURS, option
from tests.deploy.dockerfile import STAGES, Stage, left_out, user_of
from tests.deploy.knobs import TOP, read_knobs

BUILT = sorted({service["build"]["target"] for service in OURS.values()})
IGNORE = (TOP / ".dockerignore").read_text().splitlines()
ALLOWED = {line.removeprefix("!") for line in IGNORE if line.startswith("!")}


@pytest.mark.parametrize("target", BUILT)
def test_the_image_does_not_run_as_root(target: str) -> None:
    user = user_of(STAGES[target])
    assert user not in ("root", "0")
    assert f" {user} " in " ".join(STAGES["base"].all("RUN")), "the user must be made"


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_what_is_copied_exists(stage: Stage) -> None:
    for copied in stage.all("COPY"):
        first, *rest = copied.split()
        if first.startswith("--from="):
            assert first.removeprefix("--from=") in STAGES
        else:
            assert all((TOP / source).exists() for source in [first, *rest[:-1]])


def test_only_what_runs_gets_into_the_image() -> None:
    """Everything else, .env and the data directory before all, is kept out by the first line."""
    rooms = tomllib.loads((TOP / "pyproject.toml").read_text())["tool"]["importlinter"]["root_packages"]
    assert next(line for line in IGNORE if not line.startswith("#")) == "*"
    # The client is for those who talk to the broker: it runs elsewhere.
    assert {*rooms, "manage.py", "requirements", "deploy"} - {"broker_client"} == ALLOWED


def test_requirement_files_and_what_is_left_out_of_them_exist() -> None:
    for file, packages in left_out().items():
        lines = (TOP / file).read_text().splitlines()
        assert all(any(line.startswith(f"{package}==") for line in lines) for package in packages)
    assert left_out().keys() == {"requirements/core.txt", "requirements/spark.txt"}


def test_only_the_spark_image_has_spark() -> None:
    (copied,) = [line for line in STAGES["broker"].all("COPY") if "--from" in line]
    installed = " ".join(STAGES[copied.split()[0].removeprefix("--from=")].all("RUN"))
    assert "core.txt" in installed
    assert "spark" not in installed


def test_a_plain_build_makes_the_broker() -> None:
    assert list(STAGES)[-1] == "broker"


def test_the_parts_start_without_what_is_left_out() -> None:
    packages = [package.replace("-", "_") for package in left_out()["requirements/core.txt"]]
    program = (
        f"import sys; sys.modules.update(dict.fromkeys({packages}));"
        "import django; django.setup();"
        "import broker_project.web, broker_project.asgi, broker_project.flower, channels_app.beat, channels_app.tasks"
    )
    subprocess.run([sys.executable, "-c", program], cwd=TOP, check=True)


@pytest.mark.parametrize("stage", STAGES.values(), ids=STAGES)
def test_building_takes_no_secret(stage: Stage) -> None:
    secrets = [name for name, knob in read_knobs().items() if knob.secret]
    steps = " ".join(words for _, words in stage.steps)
    assert [name for name in secrets if name in steps] == []
    assert stage.all("ARG") == []


def test_an_environment_variable_of_the_image_is_a_knob_or_pythons() -> None:
    names = re.findall(r"(\w+)=", " ".join(line for stage in STAGES.values() for line in stage.all("ENV")))
    known = read_knobs().keys() | {"PATH", "DJANGO_SETTINGS_MODULE"}
    assert [name for name in names if name not in known and not name.startswith(("PYTHON", "PIP_"))] == []


def test_the_image_asks_its_own_web_server_for_its_health() -> None:
    (command,), (check,) = STAGES["broker"].all("CMD"), STAGES["broker"].all("HEALTHCHECK")
    port = option(json.loads(command), "--port")
    script = json.loads(check.partition("CMD ")[2])[-1]
    compile(script, "HEALTHCHECK", "exec")
    (path,) = re.findall(r"'(/\w+)'", script)
    assert f"'127.0.0.1', {port}" in script
    assert any(route.path.fullmatch(path) and not route.signed for route in health.routes([]))
    assert STAGES["broker"].all("EXPOSE") == [port]
