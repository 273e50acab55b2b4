// What a team's code does with the client that it has: node dapr_client.cjs <port> <token> <topic>. Prints JSON.
const { CommunicationProtocolEnum, DaprClient } = require("@dapr/dapr");

const quiet = { log() {}, info() {}, warn() {}, error() {}, verbose() {}, debug() {} };
const [port, token, topic] = process.argv.slice(2);
const client = new DaprClient({
  daprHost: "127.0.0.1",
  daprPort: port,
  daprApiToken: token,
  communicationProtocol: CommunicationProtocolEnum.HTTP,
  logger: { service: quiet },
});

const event = { specversion: "1.0", id: "mine", source: "/me", type: "own", datacontenttype: "text/plain", data: "hi" };
const inSeconds = (seconds) => new Date(Date.now() + seconds * 1000).toISOString();
const said = (answer) => (answer.error ? answer.error.message : "stored");

async function main() {
  await client.start();
  const dueAt = inSeconds(4);
  const told = {
    dueAt,
    now: said(await client.pubsub.publish("later", topic, { what: "now" })),
    text: said(await client.pubsub.publish("later", topic, "a text")),
    event: said(
      await client.pubsub.publish("later", topic, event, { contentType: "application/cloudevents+json" }),
    ),
    raw: said(await client.pubsub.publish("later", topic, { what: "raw" }, { metadata: { rawPayload: "true" } })),
    delayed: said(
      await client.pubsub.publish("later", topic, { what: "delayed" }, { metadata: { scheduledSendTime: dueAt } }),
    ),
    bulk: await client.pubsub.publishBulk("later", topic, [
      { event: { what: "bulk 1" } },
      { entryID: "second", event: "bulk 2", contentType: "text/plain" },
      "bulk 3",
    ]),
    bulkDelayed: await client.pubsub.publishBulk("later", topic, [{ event: { what: "bulk delayed" } }], {
      scheduledSendTime: dueAt,
    }),
    refused: said(
      await client.pubsub.publish("events", topic, { what: "refused" }, { metadata: { scheduledSendTime: dueAt } }),
    ),
    unknown: said(await client.pubsub.publish("nowhere", topic, {})),
    healthy: await client.health.isHealthy(),
    metadata: await client.metadata.get(),
  };
  await client.stop();
  console.log(JSON.stringify(told));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
