import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import { CONTACT_FIELDS } from "../../domain/model/slots/contact.ts";
import { NameReplacer } from "./name-replacer.ts";

/** Fields that identify a person, a machine or a purchase, with the kind of their pseudonym. */
const SENSITIVE_FIELDS: Readonly<Record<string, string>> = {
  user: "user",
  name: "name",
  names: "name",
  actor: "name",
  identity: "name",
  login: "name",
  reserved_group: "group",
  vendor: "vendor",
  hostname: "host",
  site_name: "site",
  "site-name": "site",
  license_key: "key",
  "on-event": "argument",
  ...Object.fromEntries(
    Object.values(CONTACT_FIELDS).map(({ apiName, pseudonym }) => [apiName, pseudonym]),
  ),
};

/**
 * Removes what identifies a site's people and network from the data that leaves the site. A value
 * gets the same pseudonym everywhere, so that it can still be followed through a log.
 */
export class Redactor {
  readonly #pseudonyms = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #names = new NameReplacer();
  readonly #paths = new NameReplacer();

  /** The pseudonym of a value; an empty value stays empty. */
  pseudonymFor(kind: string, value: string): string {
    if (value === "") return value;
    const existing = this.#pseudonyms.get(value);
    if (existing !== undefined) return existing;
    const number = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, number);
    const pseudonym = `${kind}-${number}`;
    this.#pseudonyms.set(value, pseudonym);
    // Addresses are recognized by their format.
    if (kind !== "address") (isAbsolute(value) ? this.#paths : this.#names).add(value, pseudonym);
    return pseudonym;
  }

  /** Replaces the sensitive fields of a JSON value, and addresses wherever they occur. */
  redactValue(value: unknown, key = ""): unknown {
    if (Array.isArray(value)) return value.map((item) => this.redactValue(item, key));
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, this.redactValue(v, k)]));
    }
    if (typeof value !== "string") return value;
    const kind = SENSITIVE_FIELDS[key];
    if (kind === undefined) return this.redactText(value);
    if (kind === "address" && isAddress(value)) return this.#redactAddress(value);
    // The audit log names actors as name@address.
    const [, name, address] = /^(.+)@([\d.:a-f]+)$/.exec(value) ?? [];
    return name === undefined || address === undefined || key !== "actor"
      ? this.pseudonymFor(kind, value)
      : `${this.pseudonymFor(kind, name)}@${this.#redactAddress(address)}`;
  }

  /** Redacts log lines: JSON lines by their fields, others as text. */
  redactLog(text: string): string {
    return text
      .split("\n")
      .map((line) => {
        try {
          return JSON.stringify(this.redactValue(JSON.parse(line)));
        } catch {
          return this.redactText(line);
        }
      })
      .join("\n");
  }

  /** Redacts free text: command lines, addresses, and all values that have a pseudonym. */
  redactText(text: string): string {
    // Paths first: a replaced address or name inside a path would hide the path.
    const withoutAddresses = this.#paths
      .replaceIn(text)
      .replaceAll(/\balready served from .* by process /g, "already served by process ")
      .replaceAll(/\bprocess (\d+) \(.*\)/g, "process $1 (…)")
      .replaceAll(/[0-9a-fA-F:.]{3,}/g, (word) => this.#redactAddress(word));
    return this.#names.replaceIn(withoutAddresses);
  }

  /** Keeps loopback and wildcard addresses, and a port or punctuation after an address. */
  #redactAddress(word: string): string {
    const [, bare = word, end = ""] = /^(.*?)([.:]?)$/.exec(word) ?? [];
    const [, v4 = bare, port = ""] = /^([\d.]+)(:\d+)?$/.exec(bare) ?? [];
    if (isIP(v4) === 4) {
      const isHarmless = v4.startsWith("127.") || v4 === "0.0.0.0";
      return isHarmless ? word : `${this.pseudonymFor("address", v4)}${port}${end}`;
    }
    const address = [word, bare].find(isAddress);
    if (address === undefined || address.length <= 3) return word;
    return `${this.pseudonymFor("address", address)}${word.slice(address.length)}`;
  }
}

const MAC = /^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/i;

const isAddress = (text: string): boolean => isIP(text) !== 0 || MAC.test(text);
