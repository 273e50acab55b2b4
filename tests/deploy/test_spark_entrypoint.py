"""The Spark image's entry, as Kubernetes and Docker Compose start it; its programs only tell their words."""

import os
import stat
import subprocess
from pathlib import Path

import pytest

from tests.deploy.dockerfile import STAGES
from tests.deploy.knobs import TOP

ENTRY = TOP / "deploy" / "spark-entrypoint.sh"
# As Spark's scheduler sets them.
POD = {
    "SPARK_DRIVER_BIND_ADDRESS": "10.0.0.1",
    "SPARK_DRIVER_URL": "spark://driver:7078",
    "SPARK_EXECUTOR_ID": "3",
    "SPARK_EXECUTOR_CORES": "4",
    "SPARK_EXECUTOR_MEMORY": "4096m",
    "SPARK_APPLICATION_ID": "spark-1",
    "SPARK_EXECUTOR_POD_IP": "10.0.0.2",
    "SPARK_EXECUTOR_POD_NAME": "export-exec-3",
    "SPARK_RESOURCE_PROFILE_ID": "0",
    "SPARK_JAVA_OPT_0": "-Dspark.driver.port=7078",
    "SPARK_JAVA_OPT_1": "-Dtold=two words; $HOME",
}


@pytest.fixture
def image(tmp_path: Path) -> Path:
    """Where java and spark-submit are, and a python that knows where Spark is."""
    spark = tmp_path / "pyspark"
    write(tmp_path / "bin" / "python", f"echo '{spark}'")
    for program in (tmp_path / "bin" / "java", spark / "bin" / "spark-submit"):
        write(program, 'for word do echo "$word"; done')
    return tmp_path


def write(program: Path, line: str) -> None:
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_text(f"#!/bin/sh\n{line}\n")
    program.chmod(0o755)


def started(image: Path, *words: str) -> list[str]:
    told = {name: value for name, value in os.environ.items() if name not in ("JAVA_HOME", "SPARK_CONF_DIR")}
    told |= POD | {"PATH": f"{image / 'bin'}:{os.environ['PATH']}"}
    return subprocess.run(
        [str(ENTRY), *words], env=told, capture_output=True, text=True, check=True
    ).stdout.splitlines()


def test_a_driver_is_a_spark_submit_of_what_it_was_told(image: Path) -> None:
    words = started(image, "driver", "--properties-file", "/a b", "local:///app/submit.py", "lake", "export")
    assert words[:2] == ["--deploy-mode", "client"]
    assert "spark.driver.bindAddress=10.0.0.1" in words
    assert words[-5:] == ["--properties-file", "/a b", "local:///app/submit.py", "lake", "export"]


def test_an_executor_is_sparks_own_class_with_all_that_it_needs(image: Path) -> None:
    words = started(image, "executor")
    assert words[:4] == ["-Dspark.driver.port=7078", "-Dtold=two words; $HOME", "-Xms4096m", "-Xmx4096m"]
    assert words[4:6] == ["-cp", f"{image}/pyspark/jars/*"]
    assert words[6] == "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
    assert dict(zip(words[7::2], words[8::2], strict=True)) == {
        "--driver-url": "spark://driver:7078", "--executor-id": "3", "--cores": "4", "--app-id": "spark-1",
        "--hostname": "10.0.0.2", "--resourceProfileId": "0", "--podName": "export-exec-3",
    }  # fmt: skip


def test_any_other_word_is_a_command(image: Path) -> None:
    assert started(image, "echo", "two words", "driver") == ["two words driver"]


def test_the_image_starts_with_it() -> None:
    assert STAGES["spark"].all("ENTRYPOINT") == ['["/app/deploy/spark-entrypoint.sh"]']
    assert ENTRY.stat().st_mode & stat.S_IXOTH
