from broker_client import Job, Worker

app = Worker("http://127.0.0.1:8000", channel_tokens={"bills": "bills-token"})


# @celery.task(autoretry_for=(OSError,), retry_backoff=2, acks_late=True)
@app.consumer("bills", consumer="printer", token="printer-token", concurrency=4)
def print_invoice(job: Job) -> None:
    print("printed", job.json(), flush=True)


app.run()
