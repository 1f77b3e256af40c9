// Reads HTTP/1.1 requests from a connection and formats replies, byte by byte if needed: a proxy
// that breaks connections at exact places cannot leave this to a library.

export interface ProxiedRequest {
  readonly method: string;
  /** With the query. */
  readonly path: string;
  /** The last part of the path: `register`, `add_consumption`, `auth`. */
  readonly operation: string;
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
  /** The fields of a JSON body; {} if there is none. */
  readonly fields: Readonly<Record<string, unknown>>;
}

export interface ProxiedReply {
  readonly status: number;
  /** With names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Takes the first complete request from received bytes; null: a part of it is missing. */
export function takeRequest(
  received: Buffer,
): { readonly request: ProxiedRequest; readonly rest: Buffer } | null {
  const end = received.indexOf("\r\n\r\n");
  if (end < 0) return null;
  const [first = "", ...lines] = received.subarray(0, end).toString("latin1").split("\r\n");
  const [method = "", path = ""] = first.split(" ");
  const headers = Object.fromEntries(
    lines.map((line) => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  if (headers["transfer-encoding"] !== undefined) {
    throw new Error("a client sent a body without its length");
  }
  const length = Number(headers["content-length"] ?? 0);
  const start = end + 4;
  if (received.length < start + length) return null;
  const body = received.subarray(start, start + length);
  const operation = new URL(path, "http://proxy").pathname.split("/").at(-1) ?? "";
  const request = { method, path, operation, headers, body, fields: parseFields(body) };
  return { request, rest: received.subarray(start + length) };
}

function parseFields(body: Buffer): Readonly<Record<string, unknown>> {
  if (body.length === 0) return {};
  return JSON.parse(body.toString()) as Record<string, unknown>;
}

/** Headers that describe one connection; the proxy has its own. */
const OF_CONNECTION = new Set([
  "connection",
  "keep-alive",
  "transfer-encoding",
  "content-length",
  "host",
]);

/** Sends a request to the server and reads the whole reply. */
export async function forwardRequest(
  target: string,
  { method, path, headers, body }: ProxiedRequest,
  signal: AbortSignal,
): Promise<ProxiedReply> {
  const response = await fetch(new URL(path, target), {
    method,
    headers: withoutConnection(headers),
    ...(method !== "GET" && { body: Uint8Array.from(body) }),
    redirect: "manual",
    signal,
    // A waiting request is answered after minutes.
    timeout: false,
  } as RequestInit);
  return {
    status: response.status,
    headers: withoutConnection(Object.fromEntries(response.headers)),
    body: Buffer.from(await response.arrayBuffer()),
  };
}

function withoutConnection(headers: Readonly<Record<string, string>>): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).filter(([name]) => !OF_CONNECTION.has(name)));
}

/** The whole reply as it is sent, and where its body starts. */
export function formatReply({ status, headers, body }: ProxiedReply): {
  readonly bytes: Buffer;
  readonly bodyStart: number;
} {
  const all = { "content-length": String(body.length), ...headers };
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`);
  const head = Buffer.from(`HTTP/1.1 ${status} Status\r\n${lines.join("")}\r\n`, "latin1");
  return { bytes: Buffer.concat([head, body]), bodyStart: head.length };
}
