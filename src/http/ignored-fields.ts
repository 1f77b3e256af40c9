/** The headers of a reply that is being made. */
export type ReplyHeaders = Record<string, string | number | undefined>;

const HEADER = "x-ignored-fields";

/** The caller chose the names, so only those are repeated that cannot be anything but a name. */
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const MOST = 8;

/** Unknown fields are ignored; the reply names them, so that a misspelt one is noticed. */
export function addIgnoredFieldsHeader(headers: ReplyHeaders, names: Iterable<string>): void {
  const before = headers[HEADER];
  const named = new Set(typeof before === "string" ? before.split(", ") : []);
  for (const name of names) {
    if (named.size === MOST) break;
    if (NAME.test(name)) named.add(name);
  }
  if (named.size > 0) headers[HEADER] = [...named].join(", ");
}

/** For the OpenAPI document. */
export const IGNORED_FIELDS_HEADER = {
  "X-Ignored-Fields": {
    description:
      "Names of unknown fields and query parameters that were ignored: at most 8, separated by " +
      "commas. Absent if there are none.",
    schema: { type: "string" },
  },
};
