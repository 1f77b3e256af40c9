import type { CallerFacts } from "../../src/domain/model/rules/caller-facts.ts";
import type { Group } from "../../src/domain/model/rules/rule-set.ts";

/**
 * Who belongs to a group, by scanning its lists. A second implementation for tests: it uses nothing
 * of the rules' code but the types.
 */
export function isMember(group: Group, facts: CallerFacts): boolean {
  const fold = (text: string): string => (group.ignoreCase ? text.toLowerCase() : text);
  const matches = (pattern: string, text: string | null): boolean => {
    if (text === null || text === "") return false;
    return pattern.endsWith("*")
      ? fold(text).startsWith(fold(pattern.slice(0, -1)))
      : fold(text) === fold(pattern);
  };
  return (
    group.users.some((pattern) => matches(pattern, personOf(facts.user))) ||
    group.hosts.some((pattern) => matches(pattern, facts.host)) ||
    group.logins.some((pattern) => matches(pattern, facts.login)) ||
    group.certificates.some((pattern) => matches(pattern, facts.certificate)) ||
    group.networks.some((network) => isInNetwork(network, facts.address))
  );
}

/** The user name up to the first `#` that does not begin it. */
export function personOf(user: string): string {
  for (let index = 1; index < user.length; index += 1) {
    if (user[index] === "#") return user.slice(0, index);
  }
  return user;
}

/** Compares the bits of both addresses as texts of zeros and ones. */
function isInNetwork(network: string, address: string): boolean {
  const [base = "", length] = network.split("/");
  const networkBits = toBits(base);
  const addressBits = toBits(address);
  if (networkBits === null || addressBits === null) return false;
  if (networkBits.length !== addressBits.length) return false;
  const count = length === undefined ? networkBits.length : Number(length);
  return networkBits.slice(0, count) === addressBits.slice(0, count);
}

function toBits(address: string): string | null {
  const text = address.toLowerCase().startsWith("::ffff:") ? address.slice(7) : address;
  if (text.includes(":")) {
    const [head = "", tail] = text.split("::");
    const first = head === "" ? [] : head.split(":");
    const last = tail === undefined || tail === "" ? [] : tail.split(":");
    const middle =
      tail === undefined ? [] : Array<string>(8 - first.length - last.length).fill("0");
    const parts = [...first, ...middle, ...last];
    return parts.map((part) => Number.parseInt(part, 16).toString(2).padStart(16, "0")).join("");
  }
  const octets = text.split(".");
  if (octets.length !== 4) return null;
  return octets.map((octet) => Number(octet).toString(2).padStart(8, "0")).join("");
}
