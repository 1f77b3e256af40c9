import { Type, type Static } from "@sinclair/typebox";

const time = (description: string) => Type.String({ format: "date-time", description });
const textOrNull = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description });

/** When a waiting user probably gets a slot. */
const EstimateReply = Type.Union(
  [
    Type.Object(
      {
        p50: time("Half of all waits end before this time."),
        p90: time("Nine of ten waits end before this time."),
      },
      { title: "WaitEstimate" },
    ),
    Type.Null(),
  ],
  {
    description:
      "An estimate from recorded sessions; null: fewer than 20 are known, or a limit blocks it.",
  },
);

const position = Type.Integer({
  description: "1: the next user to get a slot. 0: a slot is held for the user.",
});

/** What a refusal of register says of the caller's place. */
export const QueuePlaceReply = Type.Object(
  {
    position,
    length: Type.Integer({ description: "How many users wait for the product." }),
    eta: EstimateReply,
    expires_at: time("The place ends then, unless the request is repeated before."),
  },
  { title: "QueuePlace" },
);

export type QueuePlaceReply = Static<typeof QueuePlaceReply>;

const Place = Type.Object(
  {
    user: Type.String(),
    position,
    state: Type.Union([Type.Literal("waiting"), Type.Literal("held"), Type.Literal("limited")], {
      description: "held: a slot is kept until the user collects it. limited: a limit blocks it.",
    }),
    priority: textOrNull("The group of `priority` that the user belongs to; null: none."),
    home: textOrNull("The group whose reserved slots the user may have; null: none."),
    license_id: Type.Union([Type.Integer(), Type.Null()], {
      description: "The license of the held slot, or the requested one; null: any license.",
    }),
    since: time("When the user began to wait."),
    expires_at: Type.Union([Type.String({ format: "date-time" }), Type.Null()], {
      description: "The place ends then without a request; null: a request is waiting.",
    }),
    connected: Type.Boolean({ description: "Whether a request of the user is waiting now." }),
    eta: EstimateReply,
    limit: textOrNull("The limit that blocks the user; null: none."),
  },
  { title: "Place" },
);

const ProductQueueReply = Type.Object(
  {
    product: Type.String(),
    waiting: Type.Integer({ description: "Users without a held slot." }),
    held: Type.Integer({ description: "Users with a slot that they have not collected yet." }),
    hold_seconds: Type.Integer({ description: "How long a place lasts without a request." }),
    places: Type.Array(Place, { description: "In the order in which they are served." }),
  },
  { title: "ProductQueue" },
);

export const QueueReply = Type.Object(
  { products: Type.Array(ProductQueueReply, { description: "Products that users wait for." }) },
  { title: "Queue" },
);

export type QueueReply = Static<typeof QueueReply>;

/** The figures of the status, which the page follows. */
export const QueueStatusReply = Type.Object(
  {
    changes: Type.Integer({
      description: "Grows with each change of a place since the start: read the queue again.",
    }),
    products: Type.Array(
      Type.Object({
        product: Type.String(),
        waiting: Type.Integer(),
        held: Type.Integer(),
      }),
      { description: "Products that users wait for." },
    ),
  },
  { title: "QueueStatus" },
);
