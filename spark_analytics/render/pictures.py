"""Which picture a report has."""

from spark_analytics.render.charts import LAST, MEAN, Bars, Drawn, Heat, Lines
from spark_analytics.render.colours import Colours
from spark_analytics.render.values import Heading, Result

WHOSE = ("channel", "consumer")
PICTURES: dict[str, Lines | Bars | Heat] = {
    "throughput": Lines("messages", "messages an hour", otherwise=0, of_day=MEAN),
    "delivery": Bars(WHOSE, ("delivered", "dead", "open"), "jobs"),
    "latency": Lines("p95", "seconds, 95th percentile"),
    "sla": Bars(WHOSE, ("attainment",), "delivered in time", is_share=True),
    "scheduler_lag": Lines("p95", "seconds late, 95th percentile"),
    "lateness": Bars(("horizon",), ("p95",), "seconds late, 95th percentile"),
    "dead_letters": Bars(WHOSE, ("entered",), "dead letters that came in", parts="reason"),
    "dead_letter_growth": Lines("grown_so_far", "came in minus resolved", steps=True, of_day=LAST),
    "failing_consumers": Bars(WHOSE, ("failed",), "failed attempts", parts="main_reason"),
    "retries": Bars(("attempt",), ("succeeded", "failed"), "attempts"),
    "producers": Bars(("producer",), ("messages",), "messages", parts="channel"),
    "heat_map": Heat("messages_per_hour", "messages an hour"),
}


def draw(result: Result, heading: Heading, colours: Colours) -> Drawn | None:
    """None of a report without rows: its table says so."""
    picture = PICTURES.get(result.name)
    return picture.draw(result, heading, colours) if picture and result.rows else None
