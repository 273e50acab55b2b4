from datetime import timedelta

from broker_client import Broker

with Broker(
    "http://127.0.0.1:8000",
    producer="accounts",
    producer_token="accounts-token",
    channel_tokens={"bills": "bills-token"},
) as broker:
    # print_invoice.delay(1)
    stored = broker.publish("bills", {"invoice": 1}, message_id="invoice-1")
    print("stored", stored.message_id)

    # task = print_invoice.apply_async([1], countdown=3 * 24 * 3600)
    broker.publish("bills", {"invoice": 1}, message_id="reminder-1", delay=timedelta(days=3))
    print("scheduled reminder-1")

    # task.revoke()
    broker.cancel("bills", "reminder-1")
    print("cancelled reminder-1")
