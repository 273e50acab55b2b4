import { createHmac, timingSafeEqual } from "node:crypto";
import { readFileSync } from "node:fs";

// `headers` by lower-case name, `body` a Buffer, exactly as it came.
export function isGenuine(secret, headers, body, now) {
  const { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signatures } = headers;
  if (!(Math.abs(now - Number(timestamp)) <= 300)) return false;
  const key = Buffer.from(secret.replace(/^whsec_/, ""), "base64");
  const digest = createHmac("sha256", key).update(`${id}.${timestamp}.`).update(body).digest("base64");
  const expected = Buffer.from(`v1,${digest}`);
  // While a secret is being rotated there are two, with a space between them.
  return signatures.split(" ").map((given) => Buffer.from(given))
    .some((given) => given.length === expected.length && timingSafeEqual(given, expected));
}

if (process.argv[1] === import.meta.filename) {
  const [id, timestamp, signature] = process.argv.slice(2);
  const headers = { "webhook-id": id, "webhook-timestamp": timestamp, "webhook-signature": signature };
  const genuine = isGenuine(process.env.WEBHOOK_SECRET, headers, readFileSync(0), Date.now() / 1000);
  console.log(genuine ? "genuine" : "forged or old");
  process.exit(genuine ? 0 : 1);
}
