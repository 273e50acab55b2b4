"""The rows of the core. Status and time are written here and nowhere else."""

from channels_app.models.api_key import ApiKey
from channels_app.models.channel import Channel
from channels_app.models.consumer import Consumer
from channels_app.models.producer import Producer
from channels_app.models.progress import Progress
from channels_app.models.registry_version import RegistryVersion

__all__ = ["ApiKey", "Channel", "Consumer", "Producer", "Progress", "RegistryVersion"]
