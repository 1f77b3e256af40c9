import { pipeline, Readable } from "node:stream";
import { promisify } from "node:util";
import { createGzip, gzip } from "node:zlib";
import { callerOf } from "./access/gate.ts";
import { acceptsGzip } from "./page/served-file.ts";
import { isStreamed } from "./streamed-reply.ts";

/** Below this, the headers and the work cost more than compression saves. */
const MIN_LENGTH = 1_024;

/** Half the work of the default level, for a tenth more bytes. */
const LEVEL = 4;

const gzipInThread = promisify(gzip);

/**
 * Compresses JSON replies of the admin plane. Replies to applications are small, and take no extra
 * step. Secrets cannot be guessed by the length of a reply: see SECURITY.md.
 */
export function compressReply(
  request: Request,
  reply: Response | Promise<Response>,
): Response | Promise<Response> {
  if (callerOf(request)?.route?.plane !== "admin" || !acceptsGzip(request)) return reply;
  return compressJson(request, reply);
}

/** Sends other replies as they are, so streams that do not end too. */
export async function compressJson(
  request: Request,
  reply: Response | Promise<Response>,
): Promise<Response> {
  const response = await reply;
  const { status, headers } = response;
  const isJson = headers.get("content-type")?.startsWith("application/json") === true;
  if (status !== 200 || !isJson || headers.has("content-encoding")) return response;
  if (isStreamed(request) && response.body !== null) {
    headers.set("vary", "accept-encoding");
    headers.set("content-encoding", "gzip");
    return new Response(compressStream(response.body), { status, headers });
  }
  const bytes = new Uint8Array(await response.arrayBuffer());
  headers.set("vary", "accept-encoding");
  if (bytes.length < MIN_LENGTH) return new Response(bytes, { status, headers });
  headers.set("content-encoding", "gzip");
  // In a thread: a large reply would keep heartbeats waiting.
  const compressed = await gzipInThread(bytes, { level: LEVEL });
  return new Response(new Uint8Array(compressed), { status, headers });
}

/** In a thread too. An error of the stream, and the end of its reader, are passed on. */
function compressStream(body: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const compressed = createGzip({ level: LEVEL });
  pipeline(Readable.fromWeb(body), compressed, () => {});
  return Readable.toWeb(compressed);
}
