import { parseNetwork } from "../../domain/model/rules/network.ts";

/**
 * The network of an address of an options file, as `10.1.0.0/16` for `10.1.*.*`. Null: it is no
 * address, or its wildcards match more than one network.
 */
export function toNetwork(pattern: string): string | null {
  const network = pattern.includes(":") ? toIpv6Network(pattern) : toIpv4Network(pattern);
  return network === null || parseNetwork(network) === null ? null : network;
}

/** Whether the text is meant as an address, also if it is not a valid one. */
export const isAddressLike = (text: string): boolean =>
  text.includes(":") || (/^[\d.*]+$/.test(text) && text.includes("."));

function toIpv4Network(pattern: string): string | null {
  const fixed = takeFixedParts(pattern.split("."), 4);
  if (fixed === null) return null;
  const octets = [...fixed, "0", "0", "0", "0"].slice(0, 4);
  return `${octets.join(".")}/${fixed.length * 8}`;
}

function toIpv6Network(pattern: string): string | null {
  const lower = pattern.toLowerCase();
  if (!lower.includes("*")) return `${lower}/128`;
  if (lower.includes("::")) return null;
  const fixed = takeFixedParts(lower.split(":"), 8);
  return fixed === null ? null : `${fixed.join(":")}::/${fixed.length * 16}`;
}

/** The parts before the wildcards, which must be the last ones; null: they are not. */
function takeFixedParts(parts: readonly string[], count: number): readonly string[] | null {
  const wildcard = parts.indexOf("*");
  if (wildcard === -1) return parts.length === count ? parts : null;
  if (parts.length > count || parts.slice(wildcard).some((part) => part !== "*")) return null;
  return parts.slice(0, wildcard);
}
