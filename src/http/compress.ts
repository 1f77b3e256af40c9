import { promisify } from "node:util";
import { gzip } from "node:zlib";
import { callerOf } from "./access/gate.ts";
import { acceptsGzip } from "./page/served-file.ts";

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
  return compressJson(reply);
}

/** Sends other replies as they are, so streams too. */
export async function compressJson(reply: Response | Promise<Response>): Promise<Response> {
  const response = await reply;
  const { status, headers } = response;
  const isJson = headers.get("content-type")?.startsWith("application/json") === true;
  if (status !== 200 || !isJson || headers.has("content-encoding")) return response;
  const bytes = new Uint8Array(await response.arrayBuffer());
  headers.set("vary", "accept-encoding");
  if (bytes.length < MIN_LENGTH) return new Response(bytes, { status, headers });
  headers.set("content-encoding", "gzip");
  // In a thread: a large reply would keep heartbeats waiting.
  const compressed = await gzipInThread(bytes, { level: LEVEL });
  return new Response(new Uint8Array(compressed), { status, headers });
}
