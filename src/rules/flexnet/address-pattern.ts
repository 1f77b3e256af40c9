/**
 * The network of an address of an options file, as `10.1.0.0/16` for `10.1.*.*`. Null: it is no
 * address, or its wildcards match more than one network.
 */
export const toNetwork = (pattern: string): string | null =>
  pattern.includes(":") ? toIpv6Network(pattern) : toIpv4Network(pattern);

/** Whether the text is meant as an address, also if it is not a valid one. */
export const isAddressLike = (text: string): boolean =>
  text.includes(":") || (/^[\d.*]+$/.test(text) && text.includes("."));

function toIpv4Network(pattern: string): string | null {
  const parts = pattern.split(".");
  const fixed = takeFixedParts(parts, 4);
  if (fixed === null) return null;
  const numbers = fixed.map((part) => (/^(?:0|[1-9]\d{0,2})$/.test(part) ? Number(part) : 256));
  if (numbers.some((number) => number > 255)) return null;
  const octets = [...numbers, 0, 0, 0, 0].slice(0, 4);
  return `${octets.join(".")}/${fixed.length * 8}`;
}

function toIpv6Network(pattern: string): string | null {
  if (!pattern.includes("*")) return isIpv6(pattern) ? `${pattern.toLowerCase()}/128` : null;
  if (pattern.includes("::")) return null;
  const fixed = takeFixedParts(pattern.split(":"), 8);
  if (fixed === null || fixed.some((part) => !HEXTET.test(part))) return null;
  const prefix = fixed.join(":").toLowerCase();
  return `${prefix}::/${fixed.length * 16}`;
}

const HEXTET = /^[0-9a-f]{1,4}$/i;

function isIpv6(text: string): boolean {
  const halves = text.split("::");
  if (halves.length > 2) return false;
  const parts = halves.flatMap((half) => (half === "" ? [] : half.split(":")));
  if (parts.some((part) => !HEXTET.test(part))) return false;
  return halves.length === 2 ? parts.length < 8 : parts.length === 8;
}

/** The parts before the wildcards, which must be the last ones; null: they are not. */
function takeFixedParts(parts: readonly string[], count: number): readonly string[] | null {
  const wildcard = parts.indexOf("*");
  if (wildcard === -1) return parts.length === count ? parts : null;
  if (parts.length > count || parts.slice(wildcard).some((part) => part !== "*")) return null;
  return parts.slice(0, wildcard);
}
