// HTTP/1.1 read by the letter, as narrowly as RFC 9112 lets a server be: the measure for what the
// real one may take for a request. Whatever it acts on that this reader does not find was smuggled.

export interface StrictRequest {
  readonly body: string;
  /** Its ends are plain, but it names no host, or two. */
  readonly hasInvalidHost: boolean;
}

/** Whole addresses are the letter too; of those, the Host header is what counts here. */
const LINE = /^[A-Z]+ (?:https?:\/\/[^/ ]+)?\/[^\0-\x20]* HTTP\/1\.[01]$/;
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n]*?)[ \t]*$/;

interface FramedBody {
  readonly body: string;
  readonly rest: string;
}

/** The requests in the bytes, up to the first that is none, or not whole. */
export function readStrictly(bytes: Buffer): StrictRequest[] {
  const found: StrictRequest[] = [];
  let rest = bytes.toString("latin1");
  while (rest !== "") {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return found;
    const [first = "", ...lines] = rest.slice(0, end).split("\r\n");
    const headers = headersIn(lines);
    if (!LINE.test(first) || headers === null) return found;
    // Chunks came with 1.1: before that, nobody can tell where such a body ends.
    if (first.endsWith("1.0") && headers.has("transfer-encoding")) return found;
    const framed = frame(headers, rest.slice(end + 4));
    if (framed === null) return found;
    found.push({ body: framed.body, hasInvalidHost: headers.get("host")?.length !== 1 });
    rest = framed.rest;
  }
  return found;
}

/** Null: a line that is none. */
function headersIn(lines: readonly string[]): Map<string, string[]> | null {
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || value === undefined) return null;
    const key = name.toLowerCase();
    headers.set(key, [...(headers.get(key) ?? []), value]);
  }
  return headers;
}

/** Null: nobody can tell where the body ends, or it does not. */
function frame(headers: ReadonlyMap<string, readonly string[]>, rest: string): FramedBody | null {
  const lengths = headers.get("content-length") ?? [];
  const codings = headers.get("transfer-encoding") ?? [];
  if (lengths.length + codings.length > 1) return null;
  if (codings.length === 1) return isChunked(codings[0] ?? "") ? chunked(rest) : null;
  const [length = "0"] = lengths;
  if (!/^\d{1,15}$/.test(length) || Number(length) > rest.length) return null;
  return { body: rest.slice(0, Number(length)), rest: rest.slice(Number(length)) };
}

/** A list, of which empty members count for nothing. */
const isChunked = (coding: string): boolean => /^[ \t,]*chunked[ \t,]*$/i.test(coding);

/** No request begins so. */
const NOTHING = "\0";

function chunked(text: string): FramedBody | null {
  let [body, rest] = ["", text];
  for (;;) {
    const [line, hex] = /^([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\0\r\n]*)?\r\n/.exec(rest) ?? [];
    if (line === undefined || hex === undefined) return null;
    const size = Number.parseInt(hex, 16);
    const chunk = rest.slice(line.length, line.length + size);
    const after = rest.slice(line.length + size);
    // With the last chunk the body is whole; only where that is said properly can more follow.
    if (size === 0) return { body, rest: after.startsWith("\r\n") ? after.slice(2) : NOTHING };
    if (chunk.length < size || !after.startsWith("\r\n")) return null;
    body += chunk;
    rest = after.slice(2);
  }
}
