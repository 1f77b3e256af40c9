/** More than this is treated as this: a proxy between would give up sooner. */
const MAX_WAIT_SECONDS = 120;

const PREFER_HEADER = "prefer";

/** A preference with its value, followed by parameters, which `wait` does not have. */
const WAIT = /^wait[\t ]*=[\t ]*(?:([0-9]+)|"([0-9]+)")[\t ]*(?:;.*)?$/is;
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+/i;

/**
 * How many seconds a request wants to wait, from `Prefer: wait=60` (RFC 7240). Null: it does not
 * want to wait, or the header makes no sense. Several header lines arrive as one text, joined by
 * commas. Of several `wait` only the first counts.
 */
export function readWaitSeconds({ headers }: Request): number | null {
  const header = headers.get(PREFER_HEADER);
  if (header === null) return null;
  const preference = splitPreferences(header).find(
    (text) => NAME.exec(text)?.[0].toLowerCase() === "wait",
  );
  if (preference === undefined) return null;
  const [, plain, quoted] = WAIT.exec(preference) ?? [];
  const digits = plain ?? quoted;
  return digits === undefined ? null : Math.min(Number(digits), MAX_WAIT_SECONDS);
}

/** Splits at commas, but not at those inside a quoted text. */
function splitPreferences(header: string): string[] {
  const preferences: string[] = [];
  let start = 0;
  let isQuoted = false;
  for (let index = 0; index < header.length; index += 1) {
    const character = header[index];
    if (isQuoted && character === "\\") index += 1;
    else if (character === '"') isQuoted = !isQuoted;
    else if (character === "," && !isQuoted) {
      preferences.push(header.slice(start, index).trim());
      start = index + 1;
    }
  }
  preferences.push(header.slice(start).trim());
  return preferences;
}
