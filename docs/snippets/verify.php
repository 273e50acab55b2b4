<?php

// $headers by lower-case name, $body exactly as it came: file_get_contents('php://input').
function is_genuine(string $secret, array $headers, string $body, int $now): bool
{
    $timestamp = $headers['webhook-timestamp'];
    if (abs($now - (int) $timestamp) > 300) {
        return false;
    }
    $key = base64_decode(preg_replace('/^whsec_/', '', $secret));
    $signed = $headers['webhook-id'] . '.' . $timestamp . '.' . $body;
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', $signed, $key, true));
    // While a secret is being rotated there are two, with a space between them.
    foreach (explode(' ', $headers['webhook-signature']) as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

if (PHP_SAPI === 'cli') {
    $headers = array_combine(['webhook-id', 'webhook-timestamp', 'webhook-signature'], array_slice($argv, 1));
    $genuine = is_genuine(getenv('WEBHOOK_SECRET'), $headers, stream_get_contents(STDIN), time());
    echo $genuine ? "genuine\n" : "forged or old\n";
    exit($genuine ? 0 : 1);
}
