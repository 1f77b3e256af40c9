/** Headers of the reply. */
export type ReplyHeaders = Record<string, string | number | undefined>;

const HEADER = "x-ignored-fields";

/** The caller chose the names, so only harmless characters are repeated in the header. */
const NAME = /^[A-Za-z0-9_.-]{1,64}$/;
const MAX_NAMES = 8;

/** Unknown fields are ignored; the reply names them, so that a misspelled one is noticed. */
export function addIgnoredFieldsHeader(headers: ReplyHeaders, names: Iterable<string>): void {
  const previous = headers[HEADER];
  const listed = new Set(typeof previous === "string" ? previous.split(", ") : []);
  for (const name of names) {
    if (listed.size === MAX_NAMES) break;
    if (NAME.test(name)) listed.add(name);
  }
  if (listed.size > 0) headers[HEADER] = [...listed].join(", ");
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
