"""The registry over HTTP: parse, call one service or selector, answer."""

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from broker_project.api.conditions import condition_of, stamp
from broker_project.api.pagination import page
from broker_project.api.schema import CONDITIONAL_DELETE, PAGED, conditional_put, creation
from channels_app import selectors, services
from channels_app.api.permissions import OpensChannel, OpensConsumer, sees_secrets
from channels_app.api.shapes import (
    ChannelIn,
    ChannelOut,
    ConsumerIn,
    ConsumerOut,
    ListOut,
    NewChannelIn,
    NewConsumerIn,
    ProducerIn,
    ProducerOut,
    RegistryIn,
    RegistryOut,
)
from channels_app.models import Channel, Consumer, Producer
from channels_app.models.registry_object import RegistryObject


def _put(fresh: RegistryObject, shape_in: type[RegistryIn], shape_out: type[RegistryOut], request: Request) -> Response:
    incoming = shape_in(data=request.data)
    incoming.is_valid(raise_exception=True)
    row, created = services.put(fresh, values=incoming.values(), condition=condition_of(request))
    return _show(shape_out, row, request, 201 if created else 200)


def _show(shape: type[RegistryOut], row: RegistryObject, request: Request, status: int = 200) -> Response:
    body = shape(row, context={"secrets": sees_secrets(request)}).data
    return stamp(Response(body, status=status), changed_at=row.changed_at, etag=row.etag)


def _create(
    fresh: Channel | Consumer, shape_in: type[RegistryIn], shape_out: type[RegistryOut], request: Request
) -> Response:
    incoming = shape_in(data=request.data)
    incoming.is_valid(raise_exception=True)
    values = incoming.values()
    fresh.public_id = values.pop("public_id")
    response = _show(shape_out, services.create(fresh, values=values), request, 201)
    channel = fresh.channel.public_id if isinstance(fresh, Consumer) else fresh.public_id
    consumer = f"/consumer/{fresh.public_id}" if isinstance(fresh, Consumer) else ""
    response["Location"] = f"/channel/{channel}{consumer}"
    return response


class ProducersView(APIView):
    @extend_schema(operation_id="listProducers", parameters=PAGED, responses=ListOut, tags=["registry"])
    def get(self, request: Request) -> Response:
        """All producers, newest first."""
        rows = Producer.objects.live().only("public_id")
        return Response(page(request, rows, lambda row: f"/producer/{row.public_id}"))


class ProducerView(APIView):
    model = Producer

    @extend_schema(operation_id="getProducer", responses=ProducerOut, tags=["registry"])
    def get(self, request: Request, producer_id: str) -> Response:
        """One producer."""
        return _show(ProducerOut, selectors.get_producer(producer_id), request)

    @extend_schema(operation_id="putProducer", request=ProducerIn, tags=["registry"], **conditional_put(ProducerOut))
    def put(self, request: Request, producer_id: str) -> Response:
        """Create a producer, or change it."""
        return _put(Producer(public_id=producer_id), ProducerIn, ProducerOut, request)

    @extend_schema(operation_id="deleteProducer", tags=["registry"], **CONDITIONAL_DELETE)
    def delete(self, request: Request, producer_id: str) -> Response:
        """Delete a producer: it can no longer publish; what it published stays."""
        producer = selectors.get_producer(producer_id)
        services.delete(producer, condition=condition_of(request))
        return Response(status=204)


class ChannelsView(APIView):
    model = Channel

    @extend_schema(operation_id="listChannels", parameters=PAGED, responses=ListOut, tags=["registry"])
    def get(self, request: Request) -> Response:
        """All channels, newest first."""
        rows = Channel.objects.live().only("public_id")
        return Response(page(request, rows, lambda row: f"/channel/{row.public_id}"))

    @extend_schema(operation_id="createChannel", request=NewChannelIn, tags=["registry"], **creation(ChannelOut))
    def post(self, request: Request) -> Response:
        """Create a channel that must not be there yet."""
        return _create(Channel(), NewChannelIn, ChannelOut, request)


class ChannelView(APIView):
    model = Channel
    permission_classes = [OpensChannel]

    @extend_schema(operation_id="getChannel", responses=ChannelOut, tags=["registry"])
    def get(self, request: Request, channel_id: str) -> Response:
        """One channel. The channel's token opens this too; then secrets are left out."""
        return _show(ChannelOut, selectors.get_channel(channel_id), request)

    @extend_schema(operation_id="putChannel", request=ChannelIn, tags=["registry"], **conditional_put(ChannelOut))
    def put(self, request: Request, channel_id: str) -> Response:
        """Create a channel, or change it."""
        return _put(Channel(public_id=channel_id), ChannelIn, ChannelOut, request)

    @extend_schema(operation_id="deleteChannel", tags=["registry"], **CONDITIONAL_DELETE)
    def delete(self, request: Request, channel_id: str) -> Response:
        """Delete a channel and its consumers; history stays readable with an API key."""
        channel = selectors.get_channel(channel_id)
        services.delete(channel, condition=condition_of(request))
        return Response(status=204)


class ConsumersView(APIView):
    model = Consumer
    permission_classes = [OpensChannel]

    @extend_schema(operation_id="listConsumers", parameters=PAGED, responses=ListOut, tags=["registry"])
    def get(self, request: Request, channel_id: str) -> Response:
        """The consumers of a channel, newest first."""
        channel = selectors.get_channel(channel_id)
        rows = Consumer.objects.live().filter(channel=channel).only("public_id")
        return Response(page(request, rows, lambda row: f"/channel/{channel_id}/consumer/{row.public_id}"))

    @extend_schema(operation_id="createConsumer", request=NewConsumerIn, tags=["registry"], **creation(ConsumerOut))
    def post(self, request: Request, channel_id: str) -> Response:
        """Create a consumer that the channel must not have yet."""
        fresh = Consumer(channel=selectors.get_channel(channel_id))
        return _create(fresh, NewConsumerIn, ConsumerOut, request)


class ConsumerView(APIView):
    model = Consumer
    permission_classes = [OpensConsumer]

    @extend_schema(operation_id="getConsumer", responses=ConsumerOut, tags=["registry"])
    def get(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """One consumer. The channel's token opens this too, without secrets; the consumer's own shows all."""
        channel = selectors.get_channel(channel_id)
        return _show(ConsumerOut, selectors.get_consumer(channel, consumer_id), request)

    @extend_schema(operation_id="putConsumer", request=ConsumerIn, tags=["registry"], **conditional_put(ConsumerOut))
    def put(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """Create a consumer of a channel, or change it."""
        fresh = Consumer(channel=selectors.get_channel(channel_id), public_id=consumer_id)
        return _put(fresh, ConsumerIn, ConsumerOut, request)

    @extend_schema(operation_id="deleteConsumer", tags=["registry"], **CONDITIONAL_DELETE)
    def delete(self, request: Request, channel_id: str, consumer_id: str) -> Response:
        """Delete a consumer: history stays; a later PUT of the id is a new consumer."""
        consumer = selectors.get_consumer(selectors.get_channel(channel_id), consumer_id)
        services.delete(consumer, condition=condition_of(request))
        return Response(status=204)
