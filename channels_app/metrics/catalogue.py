"""Every metric by name, with its labels and its meaning. docs/metrics.md tells the same; a test compares them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, HistogramMetricFamily, Metric

Row = tuple[Sequence[str], float]
OF_CHANNEL = ("channel",)
OF_CONSUMER = ("channel", "consumer")


@dataclass(frozen=True)
class Described:
    name: str
    meaning: str
    labels: tuple[str, ...] = ()

    def counter(self, rows: Iterable[Row]) -> Metric:
        family = CounterMetricFamily(self.name, self.meaning, labels=self.labels)
        for labels, value in rows:
            family.add_metric(labels, value)
        return family

    def gauge(self, rows: Iterable[Row]) -> Metric:
        family = GaugeMetricFamily(self.name, self.meaning, labels=self.labels)
        for labels, value in rows:
            family.add_metric(labels, value)
        return family

    def histogram(self, rows: Iterable[tuple[Sequence[str], list[tuple[str, float]], float]]) -> Metric:
        family = HistogramMetricFamily(self.name, self.meaning, labels=self.labels)
        for labels, buckets, total in rows:
            family.add_metric(labels, buckets, total)
        return family


ACCEPTED = Described("broker_messages_accepted_total", "Messages stored.", OF_CHANNEL)
DISPATCHED = Described("broker_messages_dispatched_total", "Messages whose jobs were made.", OF_CHANNEL)
JOBS = Described("broker_jobs", "Jobs by state.", (*OF_CONSUMER, "state"))
DEAD_JOBS = Described("broker_dead_jobs", "Dead jobs by reason.", (*OF_CONSUMER, "reason"))
IN_FLIGHT = Described("broker_jobs_in_flight", "Jobs leased now, of all consumers.")

RETRIES_WAITING = Described("broker_retries_waiting", "Jobs whose next try is yet to come, counted up to 10,000.")
OLDEST_WAITING = Described("broker_oldest_waiting_seconds", "Age of the oldest job that is ready.", OF_CONSUMER)
OLDEST_UNACKED = Described("broker_oldest_unacked_seconds", "Age of what its consumer has longest.", OF_CONSUMER)
INDEX_LAG = Described("broker_index_lag", "Messages after the acked index of one that polls.", OF_CONSUMER)
PROGRESS_AGE = Described("broker_progress_age_seconds", "Time since a part last did something.", ("part",))
CONSUMER_PAUSED = Described("broker_consumer_paused", "1 while staff hold this consumer.", OF_CONSUMER)
CONSUMER_DISABLED = Described("broker_consumer_disabled", "1 when it asked for no more (410).", OF_CONSUMER)
BREAKER_OPEN = Described("broker_consumer_breaker_open", "1 while its circuit breaker is open.", OF_CONSUMER)
CHANNEL_PAUSED = Described("broker_channel_paused", "1 while staff hold this channel.", OF_CHANNEL)
LEFT_OUT = Described("broker_left_out", "Channels and consumers too many to be shown here.", ("kind",))

ATTEMPTS = Described("broker_attempts_total", "Tries to deliver, by outcome.", ("channel", "outcome"))
DELIVERY_SECONDS = Described("broker_delivery_seconds", "How long a POST took.", ("channel", "outcome"))
END_TO_END_SECONDS = Described("broker_end_to_end_seconds", "From accepted to settled.", ("channel", "outcome"))
ACKS = Described("broker_acks_total", "Acks by status and what they came to.", ("channel", "status", "result"))
ACK_RETRIES = Described("broker_ack_retries_total", "Jobs to try again after a nack, or none.", ("channel", "reason"))
FIRST_ACK_SECONDS = Described("broker_first_ack_seconds", "From accepted to the first ack.", ("channel", "outcome"))
RINGS = Described("broker_doorbell_rings_total", "Rings for the next step, by what came of them.", ("bell", "result"))
SWEEP_RUNS = Described("broker_sweep_runs_total", "Runs of a beat task that came to their end.", ("sweep",))
SWEEP_MOVED = Described("broker_sweep_moved_total", "Rows that a sweep moved.", ("sweep",))
RATE_LIMIT_OPEN = Described("broker_rate_limit_open_total", "Times that rate limits opened for want of Redis.")
LOST = Described("broker_measurements_lost_total", "Amounts given up because Redis was away for long.")
QUEUE_DEPTH = Described("broker_queue_depth", "Tasks in a Celery queue.", ("queue",))
