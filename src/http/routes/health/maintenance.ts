import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import {
  DoctorReply,
  VerifyReply,
  type Download,
  type MaintenanceJob,
  type RunningServer,
} from "../../running-server.ts";
import type { RouteDeps } from "../deps.ts";

const EmptyBody = Type.Object({});
const TAR = "application/x-tar";
const COMMON_REFUSALS = ["server_not_running", "maintenance_failed", "too_many_jobs"] as const;

/** Jobs that read the whole data folder. A child process of the server runs them. */
export const maintenance = ({ runningServer, keepOpen }: RouteDeps) => {
  const run = async <T>(
    request: Request,
    select: (server: RunningServer) => MaintenanceJob<T>,
  ): Promise<T> => {
    if (runningServer === null) return refuse({ code: "server_not_running" });
    const release = keepOpen(request);
    try {
      return unwrap(await select(runningServer)(request.signal));
    } finally {
      release();
    }
  };
  return new Elysia({ name: "maintenance", prefix: "/api/admin/v1" })
    .get(
      "/doctor",
      ({ request }) => run(request, ({ doctor }) => doctor),
      describeRoute({
        plane: "admin",
        id: "runDoctor",
        summary: "Run the health checks of berth doctor",
        reply: DoctorReply,
        refusals: COMMON_REFUSALS,
      }),
    )
    .get(
      "/verify",
      ({ request }) => run(request, ({ verify }) => verify),
      describeRoute({
        plane: "admin",
        id: "verifyData",
        summary: "Verify the data folder",
        reply: VerifyReply,
        refusals: COMMON_REFUSALS,
      }),
    )
    .post(
      "/backup",
      async ({ request }) => downloadResponse(await run(request, ({ backup }) => backup)),
      {
        ...jsonBody(EmptyBody, { emptyAllowed: true }),
        ...describeRoute({
          plane: "admin",
          id: "createBackup",
          summary: "Create and download a verified backup",
          description: "The backup contains the appliance's key: store it safely.",
          fileType: TAR,
          refusals: [...COMMON_REFUSALS, "storage_full"],
        }),
      },
    )
    .post(
      "/support-bundle",
      async ({ request }) =>
        downloadResponse(await run(request, ({ supportBundle }) => supportBundle)),
      {
        ...jsonBody(EmptyBody, { emptyAllowed: true }),
        ...describeRoute({
          plane: "admin",
          id: "createSupportBundle",
          summary: "Create and download a support bundle without names, addresses and secrets",
          fileType: TAR,
          refusals: [...COMMON_REFUSALS, "storage_full"],
        }),
      },
    );
};

/** The runtime opens the file soon after it gets the response, but does not report when. */
const REMOVE_AFTER_MS = 1_000;

function downloadResponse({ path, name, remove }: Download): Response {
  setTimeout(remove, REMOVE_AFTER_MS);
  return new Response(Bun.file(path), {
    headers: { "content-type": TAR, "content-disposition": `attachment; filename="${name}"` },
  });
}
