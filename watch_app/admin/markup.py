"""Rows of which there are many: written without a template, which takes several times as long."""

from html import escape

from django.utils.safestring import SafeString, mark_safe

CONSUMER = (
    '<tr data-key="{name}" data-consumer="{name}"><th scope="row"><a href="{url}">'
    '<span class="watch-channel">{channel} /</span> {consumer}</a></th>'
)
STATE = (
    '<td><span class="watch-state watch-{tone}"><span class="material-symbols-outlined" aria-hidden="true">'
    "{icon}</span>{word}</span></td>"
)
CELL = '<td data-label="{title}" data-cell="{name}" data-value="{value}">{text}</td>'
LINKED_CELL = '<td data-label="{title}" data-cell="{name}" data-value="{value}"><a href="{url}">{text}</a></td>'
OLDEST = '<td data-label="Oldest waits">{oldest}</td>'
BAR = (
    '<li><span class="watch-room" aria-hidden="true"><span style="height: {size}%"></span></span>'
    '<span class="watch-said"><time datetime="{at}" data-time="minute">{clock}</time>: {count}</span></li>'
)


def filled(markup: str, **values: object) -> SafeString:
    """Every value is text. Django's own way asks each first whether it is markup."""
    return mark_safe(markup.format_map({name: escape(str(value)) for name, value in values.items()}))  # noqa: S308


def joined(*parts: SafeString) -> SafeString:
    return mark_safe("".join(parts))  # noqa: S308
