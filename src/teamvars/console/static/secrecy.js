/** Which keys say themselves that they hold a secret. */

const WORDS = new Set(["apikey", "credential", "credentials", "dsn", "pass", "passphrase", "passwd", "password",
  "passwords", "psk", "pwd", "secret", "secrets", "token", "tokens"]);
/** What a key is of, where it is no key of a table. */
const KEYS = new Set(["access", "account", "api", "auth", "deploy", "encryption", "license", "master", "private",
  "signing", "ssh"]);

/**
 * Whether a key has a word that stands for a secret: `DB_PASSWORD`, `stripeApiKey`, and not `PASSENGERS`.
 * @param {string} key
 */
export function saysSecret(key) {
  const words = key.replace(/([a-z0-9])([A-Z])/g, "$1_$2").toLowerCase().split(/[^a-z0-9]+/);
  return words.some((one, at) => WORDS.has(one) || (one === "key" && KEYS.has(words[at - 1])));
}
