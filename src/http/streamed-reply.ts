import type { Result } from "../domain/result.ts";
import { messageOf } from "../faults/catalog.ts";
import { log } from "../platform/log.ts";
import type { Leadership } from "../operations/pair/leadership.ts";
import type { AnyFault } from "../faults/fault-types.ts";
import { faultOf, unwrap } from "./faults.ts";
import { JSON_TYPE } from "./request/body.ts";

/** A list up to this length is one text: parts would only cost time. */
const MIN_STREAMED_LENGTH = 64 * 1024;

type Lead = Pick<Leadership, "mayAnswer"> | null;

const streamedRequests = new WeakSet<Request>();

/** Whether the reply of this request is made while it is sent. */
export const isStreamed = (request: Request): boolean => streamedRequests.has(request);

interface ReplyTarget {
  readonly request: Request;
  readonly set: { readonly headers: Record<string, string | number> };
  /** Null: this host serves alone. */
  readonly leadership: Lead;
}

/**
 * Replies with JSON text that is made in parts. A long text is sent while it is made. What fails in
 * its beginning is a refusal, as of every other reply. `T` is what the text is for typed clients.
 */
export async function replyWithJsonParts<T>(
  { request, set, leadership }: ReplyTarget,
  parts: AsyncIterator<string, void>,
): Promise<T> {
  set.headers["content-type"] = JSON_TYPE;
  let text = "";
  while (text.length < MIN_STREAMED_LENGTH) {
    const { done, value } = await parts.next();
    if (done === true) return text as T;
    text += value;
  }
  streamedRequests.add(request);
  return new Response(streamParts(parts, leadership, text)) as T;
}

/** The JSON text of an array whose entries come in steps, as texts. */
export async function* joinToArray<F extends AnyFault>(
  steps: AsyncIterable<Result<readonly string[], F>>,
): AsyncGenerator<string, void> {
  let separator = "[";
  for await (const step of steps) {
    const entries = unwrap(step);
    if (entries.length === 0) continue;
    yield separator + entries.join(",");
    separator = ",";
  }
  yield separator === "[" ? "[]" : "]";
}

/**
 * Sends `begin`, and makes a part whenever the stream's buffer has space, so a slow reader delays
 * only itself. If the reader disconnects, no further part is made.
 */
export function streamParts(
  parts: AsyncIterator<string | Buffer, unknown>,
  leadership: Lead,
  begin: string | Buffer = "",
): ReadableStream<Uint8Array> {
  let isCancelled = false;
  return new ReadableStream({
    start(controller) {
      if (begin.length > 0) controller.enqueue(toBytes(begin));
    },
    async pull(controller) {
      try {
        for (;;) {
          const part = await parts.next();
          if (isCancelled) return;
          if (leadership?.mayAnswer() === false) throw new Error("this host no longer leads");
          if (part.done === true) return controller.close();
          if (part.value.length > 0) return controller.enqueue(toBytes(part.value));
        }
      } catch (thrown) {
        // The connection is cut: an incomplete reply must not look like a complete one.
        const fault = faultOf(thrown);
        const error = fault === null ? thrown : new Error(messageOf(fault));
        log.error("a reply was cut off", { error });
        controller.error(error);
      }
    },
    async cancel() {
      isCancelled = true;
      await parts.return?.();
    },
  });
}

const toBytes = (part: string | Buffer): Buffer =>
  typeof part === "string" ? Buffer.from(part) : part;
