"""Reads of the registry by public ids."""

from channels_app.errors import UnknownChannel, UnknownConsumer, UnknownProducer
from channels_app.models import Channel, Consumer, Producer


def get_producer(public_id: str) -> Producer:
    producer = Producer.objects.named(public_id).first()
    if producer is None:
        raise UnknownProducer
    return producer


def get_channel(public_id: str) -> Channel:
    channel = Channel.objects.named(public_id).first()
    if channel is None:
        raise UnknownChannel
    return channel


def get_consumer(channel: Channel, public_id: str) -> Consumer:
    consumer = Consumer.objects.filter(channel=channel).named(public_id).first()
    if consumer is None:
        raise UnknownConsumer
    return consumer
