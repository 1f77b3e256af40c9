import { Elysia } from "elysia";
import { describeRoute } from "../openapi/describe-route.ts";
import { reportReply } from "../reply/findings.ts";
import { createStandbyReport } from "../reply/health-report.ts";
import { PairReply, pairReply } from "../reply/pair.ts";
import type { RouteDeps } from "./deps.ts";

export const pair = ({ pairMembership, leadership, ...sources }: RouteDeps) =>
  new Elysia({ name: "pair", prefix: "/api/admin/v1/pair" }).get(
    "",
    (): PairReply => ({
      ...pairReply(pairMembership.status()),
      ...(leadership?.mayAnswer() === false && {
        ...reportReply(createStandbyReport({ pairMembership, leadership, ...sources })),
        pid: process.pid,
      }),
    }),
    describeRoute({
      plane: "admin",
      id: "getPair",
      summary: "Get both hosts of a pair",
      description: "A host that does not lead answers it too.",
      answersOnStandby: true,
      reply: PairReply,
    }),
  );
