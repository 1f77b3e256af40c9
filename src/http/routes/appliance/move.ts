import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { ApplianceBody } from "../../request/appliance-body.ts";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import type { RouteDeps } from "../deps.ts";

const MoveReply = Type.Object(
  {
    move_id: Type.String({ description: "The id of this move." }),
    moved_at: Type.String({ format: "date-time" }),
  },
  { title: "Move" },
);

export type MoveReply = Static<typeof MoveReply>;

export const move = ({ hostMove, identity, peerOf }: RouteDeps) =>
  new Elysia({ name: "move" }).post(
    "/api/admin/v1/move",
    async ({ body, request }): Promise<MoveReply> => {
      const { appliance } = body;
      if (appliance === undefined || appliance === "") {
        return refuse({ code: "missing_parameters", fields: ["appliance"] });
      }
      if (appliance !== identity.id) return refuse({ code: "wrong_appliance" });
      const { move: name, at } = unwrap(await hostMove.moveAway(peerOf(request)));
      return { move_id: name, moved_at: rfc3339(at) };
    },
    {
      ...jsonBody(ApplianceBody),
      ...describeRoute({
        plane: "admin",
        id: "moveAway",
        summary: "Move the appliance away from this host",
        description:
          "After this, every change is refused with moved_away. berth move out then writes the " +
          "appliance to a file, and berth move in continues it on another host. Repeating the " +
          "request returns the same move.",
        requiredFields: ["appliance"],
        destructiveEffect:
          "This host stops serving permanently: the appliance continues only on the host that it is " +
          "moved to.",
        reply: MoveReply,
        refusals: ["missing_parameters", "wrong_appliance"],
      }),
    },
  );
