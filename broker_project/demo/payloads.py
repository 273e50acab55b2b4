"""What messages say, by channel: small business documents, made by chance."""

from collections.abc import Callable
from random import Random
from typing import Any

from broker_project.demo.cast import INVOICES, JOBS, ORDERS, PAYMENTS, REMINDERS, SIGNUPS, TELEMETRY

PEOPLE = ("Ada", "Alan", "Barbara", "Edsger", "Frances", "Grace", "Ken", "Leslie", "Margaret", "Radia")
GOODS = ("bread", "cheese", "coffee", "honey", "lamp", "notebook", "tea", "umbrella")
# A payment from here on is more than the fraud check can bear.
LARGE_AMOUNT = 750
# Of a hundred sign-ups, so many come without an address.
WITHOUT_ADDRESS = 4

Payload = dict[str, Any]


def payload(channel: str, chance: Random) -> Payload:
    return _MAKERS[channel](chance)


def _order(chance: Random) -> Payload:
    items = [{"sku": sku, "quantity": chance.randint(1, 4)} for sku in chance.sample(GOODS, chance.randint(1, 3))]
    return {"order": chance.randrange(100_000), "customer": chance.choice(PEOPLE), "items": items}


def _payment(chance: Random) -> Payload:
    amount = round(min(chance.expovariate(1 / 250), 5_000), 2)
    return {"order": chance.randrange(100_000), "amount": amount, "method": chance.choice(("card", "transfer"))}


def _invoice(chance: Random) -> Payload:
    return {"invoice": chance.randrange(10_000), "to": chance.choice(PEOPLE), "dueInDays": chance.choice((14, 30))}


def _signup(chance: Random) -> Payload:
    name = chance.choice(PEOPLE)
    email = "" if chance.randrange(100) < WITHOUT_ADDRESS else f"{name.lower()}.{chance.randrange(1_000)}@example.com"
    return {"name": name, "email": email, "plan": chance.choice(("free", "team", "business"))}


def _reading(chance: Random) -> Payload:
    return {"sensor": f"s-{chance.randrange(40):02}", "celsius": round(chance.gauss(21, 4), 1)}


def _reminder(chance: Random) -> Payload:
    return {"to": chance.choice(PEOPLE), "text": f"Your {chance.choice(GOODS)} is on its way."}


def _job(chance: Random) -> Payload:
    return {"task": chance.choice(("resize-image", "send-receipt", "warm-cache", "rotate-log"))}


_MAKERS: dict[str, Callable[[Random], Payload]] = {
    ORDERS: _order,
    PAYMENTS: _payment,
    INVOICES: _invoice,
    SIGNUPS: _signup,
    TELEMETRY: _reading,
    REMINDERS: _reminder,
    JOBS: _job,
}
