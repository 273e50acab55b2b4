"""A report's page and files, handed out so that nothing in them can act as the member of staff who reads them."""

import re
from pathlib import Path

from django.http import FileResponse, Http404, HttpResponse
from django.http.response import HttpResponseBase

from reports_app.models import Report, ReportStatus

PAGE = "report.html"
_NAME = re.compile(r"[a-z_]+\.(html|json|csv|png)")
# In a sandbox a page has no origin: no cookie, no admin. It fetches nothing and sends nothing. The page's own policy
# lets its own script run alone; both hold.
POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
    "img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
)


def names(report: Report) -> list[str]:
    """The page first. None while it is being made, nor when somebody has cleared the directory."""
    if report.status != ReportStatus.DONE or not report.directory.is_dir():
        return []
    found = [path.name for path in report.directory.iterdir() if _NAME.fullmatch(path.name)]
    return sorted(found, key=lambda name: (name != PAGE, name))


def sizes(report: Report) -> dict[str, int]:
    """In bytes, by name."""
    return {name: (report.directory / name).stat().st_size for name in names(report)}


def page(report: Report) -> HttpResponseBase:
    return _safe(HttpResponse(_found(report, PAGE).read_bytes(), content_type="text/html; charset=utf-8"))


def download(report: Report, name: str) -> HttpResponseBase:
    file = FileResponse(_found(report, name).open("rb"), as_attachment=True, filename=f"{report.public_id}-{name}")
    return _safe(file)


def _found(report: Report, name: str) -> Path:
    if name not in names(report):
        raise Http404
    return report.directory / name


def _safe(response: HttpResponseBase) -> HttpResponseBase:
    response["Content-Security-Policy"] = POLICY
    response["X-Content-Type-Options"] = "nosniff"
    response["Referrer-Policy"] = "no-referrer"
    response["Cache-Control"] = "private, no-store"
    return response
