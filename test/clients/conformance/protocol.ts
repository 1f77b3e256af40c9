// The requests that a test sends to a driver, and the driver's replies. A driver is a small program
// in the language of a client: it reads requests as JSON lines from its standard input, runs each
// one in its own thread or task, and writes replies and events as JSON lines.

export interface ClientOptions {
  readonly ca?: string;
  readonly certificate?: string;
  readonly login?: { readonly name: string; readonly password: string };
  readonly allow_plain_password?: boolean;
  /** Limits one HTTP exchange, in seconds. */
  readonly timeout?: number;
  /** How long a call is repeated, in seconds. */
  readonly retry_for?: number;
  readonly nonce?: string;
  readonly root_keys?: readonly string[];
  readonly retired?: readonly string[];
}

interface OfClient {
  readonly client: string;
}

export interface AcquireOptions {
  readonly wait?: number;
  readonly license_id?: number;
  readonly user_info?: string;
  readonly is_cancellable?: true;
}

export interface ConsumeOptions {
  readonly n?: number;
  readonly feature?: string;
  readonly user?: string;
  readonly key?: string;
  readonly license_id?: number;
  readonly max_overages?: number;
  readonly allow_overages?: boolean;
}

export interface BorrowOptions {
  readonly until?: string;
  readonly license_id?: number;
  readonly key?: string;
}

export interface SlotReply {
  readonly user: string;
  readonly license_id: number;
  readonly registered_at: string;
  readonly expires_at: string;
  readonly is_held: boolean;
  readonly is_borrowed: boolean;
}

export interface FeatureReply {
  readonly code: string;
  readonly is_held: boolean;
}

export interface BorrowReply {
  readonly user: string;
  readonly license_id: number;
  readonly borrowed_until: string;
  readonly lease: string;
  /** The license as the vendor signed it, or a bundle for a license by code. */
  readonly license: string;
}

export interface ConsumptionReply {
  readonly total: number;
  readonly maximum: number | null;
  readonly key: string;
  readonly license_id: number;
}

export interface LeaseReply {
  readonly user: string;
  readonly license_id: number;
  readonly expires_at: string;
  readonly product: string;
  readonly serial: number;
}

/** An empty object. */
type Nothing = Readonly<Record<string, never>>;

interface Operation<Fields, Reply> {
  readonly fields: Fields;
  readonly reply: Reply;
}

type UserFields = OfClient & { readonly user: string };
type SlotFields = { readonly slot: string };
type FeatureFields = { readonly feature: string };

export interface Operations {
  client: Operation<
    OfClient & {
      /** A text: the addresses with commas between them. C has no other form. */
      readonly urls: readonly string[] | string;
      readonly product: string;
    } & ClientOptions,
    Nothing
  >;
  acquire: Operation<UserFields & SlotFields & AcquireOptions, SlotReply>;
  /** Cancels the cancellable acquire of a slot, in progress or the next one. */
  cancel: Operation<SlotFields, Nothing>;
  slot: Operation<SlotFields, SlotReply>;
  license: Operation<SlotFields, { readonly license: Readonly<Record<string, unknown>> }>;
  acquire_feature: Operation<SlotFields & FeatureFields & { readonly code: string }, FeatureReply>;
  feature: Operation<FeatureFields, FeatureReply>;
  release: Operation<SlotFields | FeatureFields, { readonly confirmed: boolean }>;
  release_user: Operation<UserFields, Nothing>;
  borrow: Operation<UserFields & BorrowOptions, BorrowReply>;
  consume: Operation<OfClient & ConsumeOptions, ConsumptionReply>;
  /** So many calls of `consume`, several at a time. */
  consume_many: Operation<
    OfClient & { readonly count: number; readonly concurrency: number },
    { readonly done: number; readonly failed: number }
  >;
  verify: Operation<OfClient & { readonly lease: string; readonly license: string }, LeaseReply>;
  nonce: Operation<OfClient, { readonly nonce: string }>;
  /** Forgets the handle of a slot without a release. */
  drop: Operation<SlotFields, Nothing>;
  /** What a forked process sees. */
  fork: Operation<
    OfClient & SlotFields,
    {
      readonly is_held: boolean;
      readonly acquire_code: string;
      readonly release_confirmed: boolean;
    }
  >;
  close: Operation<OfClient, Nothing>;
}

/** The classes of errors, without `Error` at the end; `Unsupported` is a driver's own: its language has no such operation. */
export type ErrorKind =
  | "NoFreeSlot"
  | "AccessDenied"
  | "Refused"
  | "Unavailable"
  | "TlsFailed"
  | "OtherAppliance"
  | "LeaseRefused"
  | "InvalidArgument"
  | "Unsupported";

export interface ErrorReply {
  readonly kind: ErrorKind;
  readonly code: string;
  readonly status: number | null;
  readonly message: string;
  readonly request_id: string | null;
  readonly key: string | null;
  readonly position?: number | null;
}

export interface LossEvent {
  readonly event: "loss";
  /** The slot that was lost; absent: a feature. */
  readonly slot?: string;
  readonly feature?: string;
  readonly kind: ErrorKind;
  readonly code: string;
  readonly message: string;
}

export interface WaitEvent {
  readonly event: "wait";
  readonly slot: string;
  readonly position: number;
  readonly length: number;
}

export type DriverEvent = LossEvent | WaitEvent;
