import { X509Certificate } from "node:crypto";
import { isIP } from "node:net";
import { addressBytes, addressText } from "./address-bytes.ts";
import { oid, parseDerValues, sequence, tagged } from "./der.ts";

/** What an authority may sign for: these DNS names with their subdomains, and these addresses. */
export interface NameConstraints {
  readonly names: readonly string[];
  /** Null: any. */
  readonly addresses: readonly string[] | null;
}

/** The id of the extension. */
export const NAME_CONSTRAINTS = "2.5.29.30";

/** The value of the extension. */
export const encodeNameConstraints = (permitted: NameConstraints): Buffer =>
  sequence(tagged(0xa0, ...subtrees(permitted)));

const subtrees = ({ names, addresses }: NameConstraints): Buffer[] => [
  ...names.map((name) => sequence(tagged(0x82, Buffer.from(name)))),
  ...(addresses ?? []).map((address) => {
    const bytes = addressBytes(address);
    return sequence(tagged(0x87, bytes, Buffer.alloc(bytes.length, 0xff)));
  }),
];

/** The name constraints of a certificate; null: none, so it may sign for any name. */
export function readNameConstraints(certificate: string): NameConstraints | null {
  const raw = new X509Certificate(certificate).raw;
  const at = raw.indexOf(oid(NAME_CONSTRAINTS));
  if (at < 0) return null;
  // A critical extension: its id, TRUE, and the value as an octet string.
  const [, , value] = parseDerValues(raw.subarray(at));
  const [constraints] = parseDerValues(value?.content ?? Buffer.alloc(0));
  const [permitted] = parseDerValues(constraints?.content ?? Buffer.alloc(0));
  const bases = parseDerValues(permitted?.content ?? Buffer.alloc(0)).flatMap(({ content }) =>
    parseDerValues(content).slice(0, 1),
  );
  const names = bases.filter(({ tag }) => tag === 0x82).map(({ content }) => content.toString());
  const addresses = bases
    .filter(({ tag }) => tag === 0x87)
    // The second half is the mask.
    .map(({ content }) => addressText(content.subarray(0, content.length / 2)));
  return { names, addresses: addresses.length === 0 ? null : addresses };
}

/** Whether the constraints permit a name or an address. */
export function isPermitted({ names, addresses }: NameConstraints, name: string): boolean {
  if (isIP(name) === 0)
    return names.some((permitted) => name === permitted || name.endsWith(`.${permitted}`));
  const bytes = addressBytes(name);
  return addresses === null || addresses.some((permitted) => addressBytes(permitted).equals(bytes));
}
