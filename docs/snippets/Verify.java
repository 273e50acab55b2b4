import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.Duration;
import java.time.Instant;
import java.util.Arrays;
import java.util.Base64;
import javax.crypto.Mac;
import javax.crypto.spec.SecretKeySpec;

public class Verify {
    /** The body must be exactly as it came. */
    static boolean isGenuine(String secret, String id, String timestamp, String signatures, byte[] body, Instant now)
            throws Exception {
        Duration age = Duration.between(Instant.ofEpochSecond(Long.parseLong(timestamp)), now);
        if (age.abs().compareTo(Duration.ofMinutes(5)) > 0) {
            return false;
        }
        byte[] key = Base64.getDecoder().decode(secret.replaceFirst("^whsec_", ""));
        Mac mac = Mac.getInstance("HmacSHA256");
        mac.init(new SecretKeySpec(key, "HmacSHA256"));
        mac.update((id + "." + timestamp + ".").getBytes(StandardCharsets.UTF_8));
        byte[] expected = ("v1," + Base64.getEncoder().encodeToString(mac.doFinal(body))).getBytes(StandardCharsets.UTF_8);
        // While a secret is being rotated there are two, with a space between them.
        return Arrays.stream(signatures.split(" "))
                .anyMatch(given -> MessageDigest.isEqual(given.getBytes(StandardCharsets.UTF_8), expected));
    }

    public static void main(String[] given) throws Exception {
        byte[] body = System.in.readAllBytes();
        boolean genuine = isGenuine(System.getenv("WEBHOOK_SECRET"), given[0], given[1], given[2], body, Instant.now());
        System.out.println(genuine ? "genuine" : "forged or old");
        System.exit(genuine ? 0 : 1);
    }
}
