import { toText, type Row } from "./log-connection.ts";

/** As the setting pair_url is: a host writes no other. */
const CLIENT_URL = /^https?:\/\/[\w.:%[\]-]+\/?$/i;

/**
 * Where clients reach a host, as the database has it. It becomes a header and a link, so null
 * stands for anything that no host can have written.
 */
export function toClientUrl(value: Row[string] | undefined): string | null {
  const text = toText(value);
  return text !== null && CLIENT_URL.test(text) ? text : null;
}
