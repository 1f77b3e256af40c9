import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { CONTENT_TYPES } from "../../../platform/metrics/exposition.ts";
import { chooseFormat } from "../../metrics/choose-format.ts";
import { exposeMetrics } from "../../metrics/server-metrics.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import type { RouteDeps } from "../deps.ts";

export const metrics = (deps: RouteDeps) =>
  new Elysia({ name: "metrics" }).get(
    "/metrics",
    ({ request, set }) => {
      const format = chooseFormat(request.headers.get("accept"));
      set.headers["content-type"] = CONTENT_TYPES[format];
      set.headers["vary"] = "accept";
      return new Response(exposeMetrics(deps, format));
    },
    describeRoute({
      plane: "admin",
      allowsMetrics: true,
      answersOnStandby: true,
      id: "getMetrics",
      summary: "Get metrics for Prometheus",
      description:
        "In the text format of Prometheus, version 0.0.4, or in OpenMetrics 1.0 if Accept prefers " +
        "it. A token with the role metrics is enough. No label names a user, a host or an address.",
      otherReplies: {
        "text/plain": Type.String(),
        "application/openmetrics-text": Type.String(),
      },
    }),
  );
