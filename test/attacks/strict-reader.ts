// A strict HTTP/1.1 parser, as narrow as RFC 9112 allows. If the real server acts on a request that
// this parser does not find, the request was smuggled.

export interface StrictRequest {
  readonly body: string;
  /** Its framing is clear, but it has no Host header, or several. */
  readonly hasInvalidHost: boolean;
}

/** Absolute URLs are allowed too; the Host header decides here. */
const LINE = /^[A-Z]+ (?:https?:\/\/[^/ ]+)?\/[^\0-\x20]* HTTP\/1\.[01]$/;
const HEADER = /^([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\0\r\n]*?)[ \t]*$/;

interface FramedBody {
  readonly body: string;
  readonly rest: string;
}

/** The requests in the bytes, up to the first that is malformed or incomplete. */
export function readStrictly(bytes: Buffer): StrictRequest[] {
  const requests: StrictRequest[] = [];
  let rest = bytes.toString("latin1");
  while (rest !== "") {
    const end = rest.indexOf("\r\n\r\n");
    if (end < 0) return requests;
    const [first = "", ...lines] = rest.slice(0, end).split("\r\n");
    const headers = parseHeaders(lines);
    if (!LINE.test(first) || headers === null) return requests;
    // HTTP/1.0 has no chunks: the end of such a body is undefined.
    if (first.endsWith("1.0") && headers.has("transfer-encoding")) return requests;
    const framed = readBody(headers, rest.slice(end + 4));
    if (framed === null) return requests;
    requests.push({ body: framed.body, hasInvalidHost: headers.get("host")?.length !== 1 });
    rest = framed.rest;
  }
  return requests;
}

/** Null: a line is malformed. */
function parseHeaders(lines: readonly string[]): Map<string, string[]> | null {
  const headers = new Map<string, string[]>();
  for (const line of lines) {
    const [, name, value] = HEADER.exec(line) ?? [];
    if (name === undefined || value === undefined) return null;
    const key = name.toLowerCase();
    headers.set(key, [...(headers.get(key) ?? []), value]);
  }
  return headers;
}

/** Null: the end of the body is ambiguous or missing. */
function readBody(
  headers: ReadonlyMap<string, readonly string[]>,
  rest: string,
): FramedBody | null {
  const lengths = headers.get("content-length") ?? [];
  const codings = headers.get("transfer-encoding") ?? [];
  if (lengths.length + codings.length > 1) return null;
  if (codings.length === 1) return isChunked(codings[0] ?? "") ? readChunks(rest) : null;
  const [length = "0"] = lengths;
  if (!/^\d{1,15}$/.test(length) || Number(length) > rest.length) return null;
  return { body: rest.slice(0, Number(length)), rest: rest.slice(Number(length)) };
}

/** The value is a list; empty members are ignored. */
const isChunked = (coding: string): boolean => /^[ \t,]*chunked[ \t,]*$/i.test(coding);

/** No request begins with this. */
const NO_REQUEST = "\0";

function readChunks(text: string): FramedBody | null {
  let [body, rest] = ["", text];
  for (;;) {
    const [line, hex] = /^([0-9A-Fa-f]{1,8})[ \t]*(?:;[^\0\r\n]*)?\r\n/.exec(rest) ?? [];
    if (line === undefined || hex === undefined) return null;
    const size = Number.parseInt(hex, 16);
    const chunk = rest.slice(line.length, line.length + size);
    const after = rest.slice(line.length + size);
    // The last chunk completes the body; a request can follow only if its empty line is there.
    if (size === 0) return { body, rest: after.startsWith("\r\n") ? after.slice(2) : NO_REQUEST };
    if (chunk.length < size || !after.startsWith("\r\n")) return null;
    body += chunk;
    rest = after.slice(2);
  }
}
