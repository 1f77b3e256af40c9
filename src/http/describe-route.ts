import { Type, type TObject, type TSchema } from "@sinclair/typebox";
import type { AnyFault, FaultCode } from "./faults.ts";

/** Of a wrong parameter there is nothing to say in general. */
export type DocumentedRefusal = Exclude<FaultCode, "invalid_parameter"> | AnyFault;

interface OperationDescription {
  /**
   * The operation's name in clients that are generated: a verb, and what it is done to. No other
   * operation has it, whatever the case.
   */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: TObject;
  /** Fields that a request cannot do without. */
  readonly requiredFields?: readonly string[];
  /**
   * The refusals a caller should be ready for, besides those any request can get; with their facts
   * where the sentence hangs on them.
   */
  readonly refusals?: readonly DocumentedRefusal[];
  /** What is gone afterwards, in a sentence for whoever is asked whether to go on. */
  readonly destructiveEffect?: string;
  readonly idempotent?: boolean;
  /** Takes an X-Nonce and answers it in a lease. */
  readonly hasLease?: boolean;
  /** Takes a document as a file or as plain text too. */
  readonly upload?: boolean;
}

interface RouteDescription extends OperationDescription {
  /** What a success looks like; left out for an empty one. */
  readonly reply?: TSchema;
  /** For a stream: what each of its lines looks like. */
  readonly streamLine?: TSchema;
  /** What a caller gets instead that asks for another media type with Accept, by that type. */
  readonly otherReplies?: Readonly<Record<string, TSchema>>;
  /** For the replies that are a word of plain text. */
  readonly text?: string;
  /** For the replies that are a file: its media type. */
  readonly fileType?: string;
  /** For the replies that are a page to look at. */
  readonly html?: boolean;
}

/** What a success looks like, by its media type. */
export interface SuccessReply {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: TSchema }>>;
}

/** What `describe` leaves on a route. */
export interface RouteDetail extends Partial<OperationDescription> {
  /** Nothing to call. */
  readonly hide?: boolean;
  readonly responses?: { readonly 200?: SuccessReply };
}

/** A route's page in the OpenAPI document, kept beside the route. */
export function describeRoute(replying: RouteDescription) {
  const { reply, streamLine, text, fileType, html, otherReplies = {}, ...page } = replying;
  const contents: Record<string, TSchema> = {
    ...(reply && { "application/json": reply }),
    ...(streamLine && { "application/x-ndjson": streamLine }),
    ...(text !== undefined && { "text/plain": Type.Literal(text) }),
    ...(fileType !== undefined && { [fileType]: Type.String({ format: "binary" }) }),
    ...(html === true && { "text/html": Type.String() }),
    ...otherReplies,
  };
  const content = Object.fromEntries(
    Object.entries(contents).map(([type, schema]) => [type, { schema }]),
  );
  const done: SuccessReply = {
    description: "Success; changes are on disk",
    ...(Object.keys(content).length > 0 && { content }),
  };
  return { detail: { ...page, responses: { 200: done } } };
}
