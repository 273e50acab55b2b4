"""Reports as a page, as files and as pictures. Plain rows come in, so none of this needs Spark."""

from spark_analytics.render.files import Writer, write
from spark_analytics.render.values import Heading, Result

__all__ = ["Heading", "Result", "Writer", "write"]
