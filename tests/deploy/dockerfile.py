"""The Dockerfile, stage by stage."""

import re
from dataclasses import dataclass, field

from tests.deploy.knobs import TOP


@dataclass
class Stage:
    name: str
    base: str
    steps: list[tuple[str, str]] = field(default_factory=list)

    def all(self, instruction: str) -> list[str]:
        return [words for name, words in self.steps if name == instruction]


def read_stages() -> dict[str, Stage]:
    text = "\n".join(
        line for line in (TOP / "Dockerfile").read_text().splitlines() if line and not line.startswith("#")
    )
    stages: dict[str, Stage] = {}
    for line in text.replace("\\\n", "").splitlines():
        instruction, _, rest = line.partition(" ")
        if instruction == "FROM":
            base, name = rest.split(" AS ")
            stages[name] = Stage(name, base)
        else:
            list(stages.values())[-1].steps.append((instruction, rest))
    return stages


STAGES = read_stages()


def user_of(stage: Stage) -> str:
    """Who runs in a container of this stage: its last USER, or that of the stage it builds on."""
    users = stage.all("USER")
    if users:
        return users[-1]
    return user_of(STAGES[stage.base]) if stage.base in STAGES else "root"


def left_out() -> dict[str, list[str]]:
    """The packages that the image does without, by requirement file."""
    steps = " ".join(step for stage in STAGES.values() for step in stage.all("RUN"))
    found = re.findall(r"grep -vE '\^\(?([\w|-]+)\)?==' /build/(requirements/\w+\.txt)", steps)
    return {file: packages.split("|") for packages, file in found}
