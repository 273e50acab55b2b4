"""What `up` says when the broker is ready."""

from broker_project.cli.plan import Plan
from broker_project.cli.prepare import Prepared


def write(plan: Plan, prepared: Prepared) -> str:
    return "\n".join([*_addresses(plan), *_credentials(prepared), *_first_steps(prepared), *_leaving(plan)])


def _addresses(plan: Plan) -> list[str]:
    return [
        "",
        f"The broker is running at {plan.web}",
        "",
        f"  API docs   {plan.web}/docs",
        f"  Admin      {plan.web}/admin/",
        f"  Flower     {plan.flower}",
        f"  Echo       {plan.echo}  (what the sample consumer received)",
        *([f"  Dapr gRPC  {plan.grpc}"] if plan.environment()["GRPC_ADDRESS"] else []),
        "",
    ]


def _credentials(prepared: Prepared) -> list[str]:
    rows = (("User", prepared.username), ("Password", prepared.password), ("API key", prepared.api_key))
    shown = [f"  {label:<10} {value}" for label, value in rows if value]
    return ["Keep these; they are shown only this once:", "", *shown, ""] if shown else []


def _first_steps(prepared: Prepared) -> list[str]:
    lines = (prepared.curl or "").splitlines()
    curl = ["Send a first message, and look at Echo:", "", *(f"  {line}" for line in lines), ""] if lines else []
    return [*curl, *prepared.notes, *([""] if prepared.notes else [])]


def _leaving(plan: Plan) -> list[str]:
    if plan.background:
        return ["./broker logs -f follows it, ./broker status looks at it, ./broker down stops it."]
    return ["Ctrl-C stops it."]
