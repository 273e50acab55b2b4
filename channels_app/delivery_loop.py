"""One event loop per worker process, in a thread of its own; Celery's threads hand it their consumers."""

import asyncio
import threading

import uvloop
from django.conf import settings

from broker_project.lib.async_pool import async_pool
from broker_project.lib.egress import allowed_from
from broker_project.lib.garbage import leave_what_is_loaded
from channels_app.delivery.courier import Courier, Ended
from channels_app.delivery.webhook import open_session
from channels_app.doorbell import ring_deliver, ring_promote
from channels_app.pull.notify import Notifier

# A run lasts a second; beyond this something is stuck, and the task must not be.
RUN_TIMEOUT_SECONDS = 20.0
GRACE_SECONDS = 5.0


class DeliveryLoop:
    def __init__(self) -> None:
        self._loop = uvloop.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="delivery-loop", daemon=True).start()
        self._courier = asyncio.run_coroutine_threadsafe(_open_courier(), self._loop).result(RUN_TIMEOUT_SECONDS)
        self._notifier = Notifier(self._courier.pool, self._courier.session)

    def deliver(self, consumer_id: int) -> Ended:
        running = asyncio.run_coroutine_threadsafe(self._courier.deliver(consumer_id), self._loop)
        try:
            return running.result(RUN_TIMEOUT_SECONDS)
        except TimeoutError:
            running.cancel()
            raise

    def is_hungry(self, consumer_id: int) -> bool:
        return self._courier.is_hungry(consumer_id)

    def notify(self, consumer_id: int) -> bool:
        """False: not yet."""
        running = asyncio.run_coroutine_threadsafe(self._notifier.notify(consumer_id), self._loop)
        try:
            return running.result(RUN_TIMEOUT_SECONDS)
        except TimeoutError:
            running.cancel()
            raise

    def stop(self) -> None:
        closing = _close(self._courier, self._notifier)
        asyncio.run_coroutine_threadsafe(closing, self._loop).result(2 * GRACE_SECONDS)


async def _open_courier() -> Courier:
    egress = allowed_from(settings.EGRESS_ALLOW)
    pool = async_pool(min_size=2, max_size=settings.DELIVERY_THREADS + 8, timeout=5)
    await pool.open()
    courier = Courier(pool, open_session(egress), ring_deliver, ring_promote)
    await courier.start()
    return courier


async def _close(courier: Courier, notifier: Notifier) -> None:
    """First the tries and their outcomes, then what they go through."""
    await notifier.stop()
    await courier.stop(GRACE_SECONDS)
    await courier.session.close()
    await courier.pool.close()


class _Holder:
    """One loop per process, made by the first thread that needs it."""

    lock = threading.Lock()
    loop: DeliveryLoop | None = None


def delivery_loop() -> DeliveryLoop:
    with _Holder.lock:
        if _Holder.loop is None:
            _Holder.loop = DeliveryLoop()
            leave_what_is_loaded()
        return _Holder.loop


def stop_delivery_loop() -> None:
    with _Holder.lock:
        if _Holder.loop is not None:
            _Holder.loop.stop()
            _Holder.loop = None
