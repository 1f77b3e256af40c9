import { Type, type Static, type TObject, type TSchema, type TUnsafe } from "@sinclair/typebox";
import type { AnyFault, FaultCode } from "../../faults/fault-types.ts";
import type { Plane } from "../access/planes.ts";
import type { NO_PARAMETERS } from "../request/query.ts";

/** invalid_parameter has no general message, so it is documented as a complete fault. */
export type DocumentedRefusal = Exclude<FaultCode, "invalid_parameter"> | AnyFault;

/** What the gate has to know of a route. */
interface AccessDescription {
  readonly plane: Plane;
  /** Load balancers and monitors may call it by HEAD too. */
  readonly answersHead?: boolean;
  /** By GET too, the operation changes data, because the contract requires it. */
  readonly changesByGet?: boolean;
  /** Although the method is POST, the operation only computes its reply. */
  readonly changesNothing?: boolean;
  /** Viewers may call it although it changes data: their own sessions. */
  readonly allowsViewers?: boolean;
  /** Tokens with the role metrics may call it, and nothing else. */
  readonly allowsMetrics?: boolean;
  /** A page for browsers, or a file of one: other sites may link to it. */
  readonly isPage?: boolean;
  /** A host of a pair that does not lead answers it too. */
  readonly answersOnStandby?: boolean;
}

interface OperationDescription {
  /**
   * The operation's name in generated clients: a verb with an object. It must be unique without
   * regard to case.
   */
  readonly id: string;
  readonly summary: string;
  readonly description?: string;
  readonly query?: TObject;
  /** Fields that a request must have. */
  readonly requiredFields?: readonly string[];
  /**
   * The refusals to expect besides those that any request can get. A complete fault is used where
   * the message depends on its values.
   */
  readonly refusals?: readonly DocumentedRefusal[];
  /** What is lost, as a sentence for a confirmation prompt. */
  readonly destructiveEffect?: string;
  readonly idempotent?: boolean;
  /** Accepts an X-Nonce, and returns a lease with it. */
  readonly hasLease?: boolean;
  /** Waits for a slot with Prefer: wait. */
  readonly canWait?: boolean;
  /** Must have the header If-Match, with the digest of what it replaces. */
  readonly requiresIfMatch?: boolean;
  /** Also accepts the document as a file or as plain text. */
  readonly upload?: boolean;
}

interface RouteDescription<Query extends TObject, Required extends string>
  extends AccessDescription, OperationDescription {
  readonly query?: Query;
  readonly requiredFields?: readonly Required[];
  /** Schema of a success; absent for an empty reply. */
  readonly reply?: TSchema;
  /** For a stream: schema of each line. */
  readonly streamLine?: TSchema;
  /** Other replies by media type, which a caller selects with Accept. */
  readonly otherReplies?: Readonly<Record<string, TSchema>>;
  /** For a reply in plain text: its text. */
  readonly text?: string;
  /** For a reply that is a file: its media type. */
  readonly fileType?: string;
}

/** A success, with its schemas by media type. */
export interface SuccessReply {
  readonly description: string;
  readonly content?: Readonly<Record<string, { readonly schema: TSchema }>>;
}

/** What `describeRoute` adds to a route. */
export interface RouteDetail extends AccessDescription, Partial<OperationDescription> {
  /** The route is not documented. */
  readonly hide?: boolean;
  readonly responses?: { readonly 200?: SuccessReply };
}

/**
 * What the type of a route says of its requests besides the body: see `ClientRoutes`. It has the
 * place of the framework's query, which no route uses, because names of parameters are matched
 * without regard to case.
 */
interface RequestTypes<Query = unknown, Required = unknown> {
  readonly parameters: Query;
  readonly required: Required;
}

/** Describes a route for the gate, for the OpenAPI document and for the types of clients. */
export function describeRoute<
  Query extends TObject = typeof NO_PARAMETERS,
  const Required extends string = never,
>(route: RouteDescription<Query, Required>) {
  const { reply, streamLine, text, fileType, otherReplies = {}, ...operation } = route;
  const contents: Record<string, TSchema> = {
    ...(reply && { "application/json": reply }),
    ...(streamLine && { "application/x-ndjson": streamLine }),
    ...(text !== undefined && { "text/plain": Type.Literal(text) }),
    ...(fileType !== undefined && { [fileType]: Type.String({ format: "binary" }) }),
    ...(operation.isPage === true && { "text/html": Type.String() }),
    ...otherReplies,
  };
  const content = Object.fromEntries(
    Object.entries(contents).map(([type, schema]) => [type, { schema }]),
  );
  const success: SuccessReply = {
    description: "Success; changes are on disk",
    ...(Object.keys(content).length > 0 && { content }),
  };
  const detail: RouteDetail = { ...operation, responses: { 200: success } };
  return { detail } as {
    readonly detail: RouteDetail;
    readonly query: TUnsafe<RequestTypes<Static<Query>, Required>>;
  };
}

/**
 * The routes as typed clients see them. To the code of a route every field is optional, because a
 * request may lack it; a client must send the required ones. Other names do not compile.
 */
export type ClientRoutes<Routes> = {
  [Key in keyof Routes]: Routes[Key] extends RouteTypes<infer Body, infer Query, infer Required>
    ? Omit<Routes[Key], "body" | "query"> &
        (unknown extends Body
          ? { body: unknown; query: WithRequired<Query, Required> }
          : { body: WithRequired<Body, Required>; query: NoFields })
    : ClientRoutes<Routes[Key]>;
};

interface RouteTypes<Body, Query, Required> {
  readonly body: Body;
  readonly query: RequestTypes<Query, Required>;
}

/** Unlike `{}`, it takes no field with a value. */
type NoFields = Record<string, null>;

type WithRequired<Fields, Names> = [keyof Fields] extends [never]
  ? NoFields
  : Omit<Fields, Names & PropertyKey> & { [Name in Names & keyof Fields]-?: Fields[Name] & {} };
