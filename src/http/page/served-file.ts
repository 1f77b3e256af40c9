import { createHash } from "node:crypto";

/** A text that does not change, as it is sent. */
export interface ServedFile {
  readonly type: string;
  readonly text: string;
  /** Changes with the text. */
  readonly etag: string;
  readonly gzip: () => Uint8Array<ArrayBuffer>;
}

const HASH_LENGTH = 10;

export const hashOf = (text: string): string =>
  createHash("sha256").update(text).digest("hex").slice(0, HASH_LENGTH);

export function serveText(type: string, text: string): ServedFile {
  let compressed: Uint8Array<ArrayBuffer> | null = null;
  return {
    type,
    text,
    // Weak: the compressed and the plain text have the same one.
    etag: `W/"${hashOf(text)}"`,
    gzip: () => (compressed ??= gzipSmall(text)),
  };
}

/** Once, with the first request: the smallest result takes longer than many other replies. */
const gzipSmall = (text: string): Uint8Array<ArrayBuffer> =>
  Bun.gzipSync(new TextEncoder().encode(text), { library: "libdeflate", level: 12 });

/** Sends the file, unless the client has it already. */
export function replyWithFile(
  request: Request,
  file: ServedFile,
  otherHeaders: Readonly<Record<string, string>>,
): Response {
  const headers = {
    "content-type": file.type,
    etag: file.etag,
    vary: "accept-encoding",
    ...otherHeaders,
  };
  if (isKnown(request, file)) return new Response(null, { status: 304, headers });
  if (!acceptsGzip(request)) return new Response(file.text, { headers });
  return new Response(file.gzip(), { headers: { ...headers, "content-encoding": "gzip" } });
}

const isKnown = ({ headers }: Request, { etag }: ServedFile): boolean =>
  (headers.get("if-none-match") ?? "").split(",").some((known) => known.trim() === etag);

/** Whether a client accepts gzip. A coding with a weight of 0 is not accepted. */
export const acceptsGzip = ({ headers }: Request): boolean =>
  (headers.get("accept-encoding") ?? "").split(",").some((coding) => {
    const [name = "", weight = ""] = coding.split(";");
    return name.trim().toLowerCase() === "gzip" && !/^\s*q=0(?:\.0*)?\s*$/i.test(weight);
  });
