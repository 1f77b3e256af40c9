import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { SlotChanges } from "../../../domain/views/slot-changes.ts";
import {
  formatCursor,
  parseCursor,
  type ListCursor,
} from "../../../operations/slots/slot-changes.ts";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { readQuery } from "../../request/query.ts";
import { RegistrationReply, registrationReply } from "./registrations.ts";
import type { RouteDeps } from "../deps.ts";

const Query = Type.Object({
  since: Type.Optional(
    Type.String({ description: "The value of `next` of the last reply; absent: begin." }),
  ),
});

const time = Type.String({ format: "date-time" });
const slotKey = { license_id: Type.Integer(), user: Type.String() };

const RegistrationChangesReply = Type.Object(
  {
    reload: Type.Boolean({
      description: "true: the changes are not known. Read the whole list again.",
    }),
    changed: Type.Array(RegistrationReply, {
      description: "Slots that were taken or changed, as they are now.",
    }),
    removed: Type.Array(Type.Object(slotKey, { title: "SlotKey" }), {
      description: "Slots that are no longer in use.",
    }),
    renewed: Type.Array(
      Type.Object({ ...slotKey, last_seen_at: time, expires_at: time }, { title: "SlotRenewal" }),
      { description: "Slots with a heartbeat that changed nothing else." },
    ),
    now: Type.String({
      format: "date-time",
      description: "Server time of this reply. A `borrowed_until` that is not after it is over.",
    }),
    next: Type.String({ description: "Value of `since` for the next request." }),
  },
  { title: "RegistrationChanges" },
);

export type RegistrationChangesReply = Static<typeof RegistrationChangesReply>;

const NO_CHANGES: SlotChanges = { changed: [], removed: [], renewed: [] };

/** What changed in the list of slots, for tools that keep a copy of it. */
export const registrationsChanges = ({ slots }: RouteDeps) =>
  new Elysia({ name: "registrations-changes" }).get(
    "/api/admin/v1/registrations/changes",
    async ({ request, set }): Promise<RegistrationChangesReply> => {
      const { since } = readQuery(Query, request, set.headers);
      const { at, next, changes } = unwrap(await slots.listChanges(readCursor(since)));
      const { changed, removed, renewed } = changes ?? NO_CHANGES;
      return {
        reload: changes === null,
        changed: changed.map(registrationReply),
        removed: removed.map(({ license, user }) => ({ license_id: license, user })),
        renewed: renewed.map(({ license, user, lastSeenAt, end }) => ({
          license_id: license,
          user,
          last_seen_at: rfc3339(lastSeenAt),
          expires_at: rfc3339(end),
        })),
        now: rfc3339(at),
        next: formatCursor(next),
      };
    },
    describeRoute({
      plane: "admin",
      id: "listRegistrationChanges",
      summary: "List changes of slots",
      description:
        "Begin without `since`, then read the whole list, then call again with the `next` of " +
        "the last reply. `reload` is true if the changes are not known: at the beginning, after " +
        "a start of the server, after a change of all slots, and if there are too many.",
      query: Query,
      reply: RegistrationChangesReply,
      refusals: [invalidCursor],
    }),
  );

const invalidCursor = {
  code: "invalid_parameter" as const,
  field: "since",
  expected: "the value of next in the last reply",
};

const readCursor = (text: string | undefined): ListCursor | null =>
  text === undefined || text === "" ? null : (parseCursor(text) ?? refuse(invalidCursor));
