import { isIP } from "node:net";
import { isAbsolute } from "node:path";
import { NameReplacer } from "./name-replacer.ts";

/** Fields that say who or where somebody is, or what was bought, by what stands in for them. */
const SENSITIVE_FIELDS: Readonly<Record<string, string>> = {
  user: "user",
  name: "name",
  names: "name",
  actor: "name",
  identity: "name",
  vendor: "vendor",
  os_hostname: "host",
  hostname: "host",
  ip_local: "address",
  peer: "address",
  user_info: "info",
  license_key: "key",
};

/**
 * Takes out of what leaves the site whatever tells about its people and its network. The same thing
 * gets the same stand-in everywhere, so that one can still be followed through a log.
 */
export class Redactor {
  readonly #known = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  readonly #names = new NameReplacer();
  readonly #paths = new NameReplacer();

  /** The stand-in for something; empty things stand for themselves. */
  pseudonymFor(kind: string, value: string): string {
    if (value === "") return value;
    const known = this.#known.get(value);
    if (known !== undefined) return known;
    const number = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, number);
    const made = `${kind}-${number}`;
    this.#known.set(value, made);
    // Addresses are found by their shape.
    if (kind !== "address") (isAbsolute(value) ? this.#paths : this.#names).add(value, made);
    return made;
  }

  /** A value of JSON with every telling field replaced, and every address wherever it stands. */
  redactValue(value: unknown, key = ""): unknown {
    if (Array.isArray(value)) return value.map((one) => this.redactValue(one, key));
    if (typeof value === "object" && value !== null) {
      return Object.fromEntries(Object.entries(value).map(([k, v]) => [k, this.redactValue(v, k)]));
    }
    if (typeof value !== "string") return value;
    const kind = SENSITIVE_FIELDS[key];
    if (kind === undefined) return this.redactText(value);
    if (kind === "address" && isAddress(value)) return this.#address(value);
    // Acts are on record as name@address.
    const [, name, address] = /^(.+)@([\d.:a-f]+)$/.exec(value) ?? [];
    return name === undefined || address === undefined || key !== "actor"
      ? this.pseudonymFor(kind, value)
      : `${this.pseudonymFor(kind, name)}@${this.#address(address)}`;
  }

  /** Lines of a log: those that are JSON by their fields, the others as text. */
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

  /** Free text: command lines, addresses, and everything that was taken out elsewhere. */
  redactText(text: string): string {
    // Paths first: an address or a name inside of one would hide it.
    const addressed = this.#paths
      .replaceIn(text)
      .replaceAll(/\balready served from .* by process /g, "already served by process ")
      .replaceAll(/\bprocess (\d+) \(.*\)/g, "process $1 (…)")
      .replaceAll(/[0-9a-fA-F:.]{3,}/g, (word) => this.#address(word));
    return this.#names.replaceIn(addressed);
  }

  /** Loopback and "any" tell nothing; a port behind an address stays, and so does a sentence. */
  #address(word: string): string {
    const [, bare = word, end = ""] = /^(.*?)([.:]?)$/.exec(word) ?? [];
    const [, v4 = bare, port = ""] = /^([\d.]+)(:\d+)?$/.exec(bare) ?? [];
    if (isIP(v4) === 4) {
      const plain = v4.startsWith("127.") || v4 === "0.0.0.0";
      return plain ? word : `${this.pseudonymFor("address", v4)}${port}${end}`;
    }
    const whole = [word, bare].find(isAddress);
    if (whole === undefined || whole.length <= 3) return word;
    return `${this.pseudonymFor("address", whole)}${word.slice(whole.length)}`;
  }
}

const MAC = /^(?:[0-9a-f]{2}:){5}[0-9a-f]{2}$/i;

const isAddress = (text: string): boolean => isIP(text) !== 0 || MAC.test(text);
