"""Where a no leads, on a page that asks before it acts."""

from django import template
from django.http import HttpRequest
from django.template import Context
from django.utils.http import url_has_allowed_host_and_scheme

register = template.Library()

BACK = "_back"


@register.simple_tag(takes_context=True)
def way_back(context: Context) -> str:
    """The page that the question was asked from, also when a form was not in order and is shown once more.

    An address, not a script: a no that is said before a script is there must not do nothing.
    """
    request: HttpRequest = context["request"]
    came_from = request.POST.get(BACK) or request.headers.get("Referer", "")
    is_ours = url_has_allowed_host_and_scheme(came_from, {request.get_host()}, require_https=request.is_secure())
    return came_from if is_ours else ".."
