require "openssl"

# headers by lower-case name, body exactly as it came.
def genuine?(secret, headers, body, now)
  id, timestamp, signatures = headers.values_at("webhook-id", "webhook-timestamp", "webhook-signature")
  return false if (now - timestamp.to_i).abs > 300

  key = secret.delete_prefix("whsec_").unpack1("m")
  digest = OpenSSL::HMAC.digest("SHA256", key, "#{id}.#{timestamp}.".b + body)
  expected = "v1," + [digest].pack("m0")
  # While a secret is being rotated there are two, with a space between them.
  signatures.split(" ").any? { |given| OpenSSL.secure_compare(given, expected) }
end

if __FILE__ == $PROGRAM_NAME
  headers = ["webhook-id", "webhook-timestamp", "webhook-signature"].zip(ARGV).to_h
  ok = genuine?(ENV.fetch("WEBHOOK_SECRET"), headers, $stdin.binmode.read, Time.now.to_i)
  puts ok ? "genuine" : "forged or old"
  exit ok
end
