"""What died in a queue is in its dead queue too, with the same payload: a message that is expunged takes that along."""

from broker_project.lib.bound import fetch
from channels_app import services
from channels_app.models import Message

# By the id that the trigger gives them: it begins with the job's, whatever queue was the dead one then. Queue by queue,
# so that the keys' index is the way to them ('.' comes after '-').
_COPIES = """
SELECT copy.row_id FROM delivery_job j CROSS JOIN queue q CROSS JOIN LATERAL (
    SELECT k.row_id FROM message_key k WHERE k.channel_id = q.channel_id AND k.pruned_at IS NULL
      AND k.message_id >= 'dead-' || j.partition || '-' || j.id || '-'
      AND k.message_id < 'dead-' || j.partition || '-' || j.id || '.'
    OFFSET 0
) AS copy
WHERE j.message_id = %(message)s AND j.channel_id IN (SELECT channel_id FROM queue) ORDER BY 1
"""


def expunge_dead(message: Message) -> None:
    copies = [row[0] for row in fetch(_COPIES, {"message": message.pk})]
    if not copies:
        return
    by = Message.objects.values_list("expunged_by", flat=True).get(pk=message.pk) or ""
    for copy in Message.objects.filter(pk__in=copies).defer("payload").select_related("channel").order_by("pk"):
        services.expunge(message=copy, by=by)
