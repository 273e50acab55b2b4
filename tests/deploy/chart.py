"""The Helm chart, rendered by Helm itself; no cluster is asked."""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.deploy.knobs import TOP

CHART = TOP / "deploy" / "helm" / "message-broker"
EVERYTHING = Path(__file__).parent / "charts" / "everything.yaml"
# It comes in a wheel (requirements/dev.txt), but not for every machine.
HELM = shutil.which("helm", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
needs_helm = pytest.mark.skipif(HELM is None, reason="there is no helm for this machine")

Resource = dict[str, Any]


def helm(*words: str | Path) -> subprocess.CompletedProcess[str]:
    assert HELM
    return subprocess.run([HELM, *map(str, words)], check=False, capture_output=True, text=True)


@dataclass(frozen=True)
class Rendered:
    resources: list[Resource]

    def all(self, kind: str) -> dict[str, Resource]:
        """By the part's name."""
        return {_part(one): one for one in self.resources if one["kind"] == kind}

    def containers(self) -> dict[str, Resource]:
        """Of every Deployment, and of the job; but for those that begin a pod."""
        pods = {**self.all("Deployment"), **self.all("Job")}
        return {name: pod["spec"]["template"]["spec"]["containers"][0] for name, pod in pods.items()}


def _part(resource: Resource) -> str:
    return str(resource["metadata"]["name"]).removeprefix("demo-message-broker").removeprefix("-")


@cache
def rendered(*words: str | Path) -> Rendered:
    done = helm("template", "demo", CHART, "--namespace", "broker", *words)
    assert done.returncode == 0, done.stderr
    return Rendered([one for one in yaml.safe_load_all(done.stdout) if one])


@cache
def default() -> Rendered:
    return rendered()


@cache
def everything() -> Rendered:
    return rendered("-f", EVERYTHING)
