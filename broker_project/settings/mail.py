"""E-mail, which alerts are told by."""

from .environment import env, from_environment, one_of, readable_addresses

# The mail server that alerts are sent by; none: they are not mailed.
EMAIL_HOST = env.str("EMAIL_HOST", "")
# Its port.
EMAIL_PORT = env.int("EMAIL_PORT", 587)
# Who the broker is there; none: it does not log in.
EMAIL_HOST_USER = env.str("EMAIL_HOST_USER", "")
# The password for it.
EMAIL_HOST_PASSWORD = from_environment("EMAIL_HOST_PASSWORD", "")
# How the connection is kept private: starttls, tls (from its first byte, as a rule on port 465) or none.
_SECURITY = one_of("EMAIL_SECURITY", env.str("EMAIL_SECURITY", "starttls"), "starttls", "tls", "none")
EMAIL_USE_TLS, EMAIL_USE_SSL = _SECURITY == "starttls", _SECURITY == "tls"
# A mail server that takes longer to answer is asked again in the next round.
EMAIL_TIMEOUT = env.float("EMAIL_TIMEOUT", 5.0)
# The sender of alerts.
DEFAULT_FROM_EMAIL = env.str("EMAIL_FROM", "broker@localhost")
# Who alerts are mailed to where a rule names nobody, comma separated.
ALERT_EMAILS: list[str] = readable_addresses(env.list("ALERT_EMAILS", []))
