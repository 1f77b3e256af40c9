import type { TSchema } from "@sinclair/typebox";
import { statusOf, type Code } from "./faults.ts";

interface Description {
  readonly summary: string;
  readonly description?: string;
  /** What a success looks like; left out for an empty one. */
  readonly reply?: TSchema;
  /** For a stream: what each of its lines looks like. */
  readonly lines?: TSchema;
  /** For the replies that are a word of plain text. */
  readonly text?: string;
  /** For the replies that are a file: its media type. */
  readonly file?: string;
  readonly query?: TSchema;
  /** The refusals a caller should be ready for, besides those any request can get. */
  readonly refuses?: readonly Code[];
  readonly idempotent?: boolean;
  /** Takes an X-Nonce and answers it in a lease. */
  readonly leased?: boolean;
  /** Takes a document as a file or as plain text too. */
  readonly upload?: boolean;
}

/** A route's page in the OpenAPI document, kept beside the route. */
export function describe({
  summary,
  description,
  reply,
  lines,
  text,
  file,
  query,
  refuses = [],
  idempotent,
  leased,
  upload,
}: Description) {
  const content = {
    ...(reply && { "application/json": { schema: reply } }),
    ...(lines && { "application/x-ndjson": { schema: lines } }),
    ...(text !== undefined && {
      "text/plain": { schema: { type: "string" as const, const: text } },
    }),
    ...(file !== undefined && {
      [file]: { schema: { type: "string" as const, format: "binary" } },
    }),
  };
  const byStatus = Map.groupBy(refuses, statusOf);
  return {
    detail: {
      summary,
      ...(description !== undefined && { description }),
      ...(query !== undefined && { query }),
      ...(idempotent === true && { idempotent }),
      ...(leased === true && { leased }),
      ...(upload === true && { upload }),
      responses: {
        200: {
          description: "Done, and on disk",
          ...(Object.keys(content).length > 0 && { content }),
        },
        ...Object.fromEntries(
          [...byStatus].map(([status, codes]) => [status, { description: codes.join(", ") }]),
        ),
      },
    },
  };
}
