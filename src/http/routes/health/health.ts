import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse } from "../../faults.ts";
import { clockFinding } from "../../../operations/health/clock.ts";
import { findStandbyFault } from "../../access/standby.ts";
import type { RouteDeps } from "../deps.ts";

export const health = ({ applianceStatus, hostMove, timekeeping, leadership }: RouteDeps) =>
  new Elysia({ name: "health" }).get(
    "/api/v4/health",
    () => {
      const standby = leadership && findStandbyFault(leadership);
      if (standby !== null) return refuse(standby);
      const { fault } = applianceStatus.storageStatus();
      if (fault !== null) return refuse(fault);
      const retired = hostMove.findRetirement();
      if (retired !== null) return refuse({ code: "moved_away", at: retired.at });
      const clock = clockFinding(timekeeping.view());
      const warnings = [
        ...applianceStatus.storageHealth().warnings.map(({ code }) => code),
        ...(clock === null ? [] : [clock.code]),
      ];
      return warnings.length === 0 ? { status: "ok" } : { status: "degraded", warnings };
    },
    describeRoute({
      plane: "open",
      answersHead: true,
      answersOnStandby: true,
      id: "getHealth",
      summary: "Get server health",
      description:
        "503 while the server cannot write, 409 after it was moved to another host. In a pair, the " +
        "host on standby replies 503 `standby`, with the leader's URL in the header Berth-Leader. " +
        "`degraded`: the server works, but an operator should run `berth status`.",
      reply: Type.Object(
        {
          status: Type.Union([Type.Literal("ok"), Type.Literal("degraded")]),
          warnings: Type.Optional(
            Type.Array(Type.String(), { description: "Codes of what is wrong; only if degraded." }),
          ),
        },
        { title: "Health" },
      ),
      refusals: ["storage_full", "storage_failed", "standby", "log_unavailable", "moved_away"],
    }),
  );
