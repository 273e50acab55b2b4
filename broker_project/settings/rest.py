"""The REST framework and its OpenAPI document."""

import broker_project

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "channels_app.api.authentication.ApiKeyAuthentication",
        "channels_app.api.authentication.StaffSessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["channels_app.api.permissions.IsManager"],
    "DEFAULT_THROTTLE_CLASSES": ["channels_app.api.throttles.ManagementThrottle"],
    "DEFAULT_PARSER_CLASSES": [
        "broker_project.api.parsers.StrictJSONParser",
        "rest_framework.parsers.FormParser",
    ],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "broker_project.api.negotiation.AlwaysJSON",
    "DEFAULT_SCHEMA_CLASS": "broker_project.api.schema.ProblemAwareSchema",
    "EXCEPTION_HANDLER": "broker_project.api.exceptions.handle_exception",
    "URL_FORMAT_OVERRIDE": None,
}

SPECTACULAR_SETTINGS = {
    "TITLE": "Message broker with a clock",
    "DESCRIPTION": (
        "Producers broadcast messages to channels, now or for a moment in the future; "
        "consumers get them pushed to a callback URL, or pull them. Errors are RFC 9457 problem documents."
    ),
    "VERSION": broker_project.__version__,
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": [],
    "SERVE_AUTHENTICATION": [],
    "COMPONENT_SPLIT_REQUEST": True,
    "OAS_VERSION": "3.1.0",
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "POSTPROCESSING_HOOKS": ["broker_project.api.schema_document.finish"],
}
