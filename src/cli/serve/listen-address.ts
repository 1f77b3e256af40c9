import { isIP } from "node:net";

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Parses HOST:PORT, an IPv6 address in brackets; null: invalid. Port 0 means any free port. */
export function parseListenAddress(text: string): ListenAddress | null {
  const [, bracketed, plain, digits] =
    /^(?:\[([0-9a-fA-F:.]+)\]|([^:\s]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535) return null;
  return bracketed !== undefined && isIP(bracketed) !== 6 ? null : { host, port };
}

export const formatListenAddress = ({ host, port }: ListenAddress): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`;
