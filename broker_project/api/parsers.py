"""JSON as clients send it: strict values, an object at the top, keys in any case."""

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.exceptions import ParseError
from rest_framework.parsers import JSONParser


class StrictJSONParser(JSONParser):
    """JSON that is too deep for the parser, or not an object, is the client's error and not ours."""

    strict = True

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        try:
            data = super().parse(stream, media_type, parser_context)
        except RecursionError as error:
            raise ParseError("The JSON is nested too deeply.") from error
        if not isinstance(data, dict):
            raise ParseError("The body must be a JSON object.")
        return data
