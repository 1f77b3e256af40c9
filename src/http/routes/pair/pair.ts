import { Type, type Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ApplianceBody } from "../../request/appliance-body.ts";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { reportReply } from "../health/findings.ts";
import { createStandbyReport } from "../health/health-report.ts";
import { PairReply, pairReply } from "./pair-reply.ts";
import { fields } from "../../request/fields.ts";
import type { RouteDeps } from "../deps.ts";

const AdmitBody = Type.Object({ request: fields.pairRequest }, { title: "AdmitHostBody" });
/** The appliance's id is required, so that a misdirected request cannot end a pair. */
const HandOverBody = Type.Object({}, { title: "HandOverBody" });

const AdmittedHost = Type.Object(
  {
    host: Type.String(),
    fingerprint: Type.String({ description: "Of the request, to compare by voice." }),
    hardware_id: Type.String(),
  },
  { title: "AdmittedHost" },
);

const HandedOver = Type.Object({ leader: Type.String() }, { title: "HandedOver" });
const LeftPair = Type.Object(
  { host: Type.String({ description: "The host that serves alone." }) },
  { title: "LeftPair" },
);

export type AdmittedHostReply = Static<typeof AdmittedHost>;

export const pair = ({ pairMembership, leadership, peerOf, ...sources }: RouteDeps) =>
  new Elysia({ name: "pair", prefix: "/api/admin/v1/pair" })
    .get(
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
    )
    .post(
      "/admit",
      async ({ body, request }): Promise<AdmittedHostReply> => {
        const text = body.request;
        if (text === undefined || text === "") {
          return refuse({ code: "missing_parameters", fields: ["request"] });
        }
        const admitted = unwrap(await pairMembership.admit(text, peerOf(request)));
        const { host, fingerprint, hardwareId } = admitted;
        return { host, fingerprint, hardware_id: hardwareId };
      },
      {
        ...jsonBody(AdmitBody),
        ...describeRoute({
          plane: "admin",
          id: "admitHost",
          summary: "Admit a second host to the pair",
          description:
            "The request is the content of the file of berth pair request. berth pair admit then " +
            "writes a file with which the host joins. Repeating the request changes nothing.",
          requiredFields: ["request"],
          reply: AdmittedHost,
          refusals: [
            "missing_parameters",
            "invalid_pair_request",
            "not_a_pair",
            "pair_complete",
            "pair_host_taken",
            "pair_same_machine",
            "pair_version_differs",
            "pair_clock_differs",
          ],
        }),
      },
    )
    .post("/hand-over", async () => unwrap(await pairMembership.handOver()), {
      ...jsonBody(HandOverBody, { emptyAllowed: true }),
      ...describeRoute({
        plane: "admin",
        id: "handOverPair",
        summary: "Let the other host of the pair lead",
        description:
          "The reply is sent when the other host leads. This host no longer does, and can be " +
          "stopped.",
        // When it replies, the other host leads.
        answersOnStandby: true,
        reply: HandedOver,
        refusals: ["not_a_pair", "hand_over_refused", "standby"],
      }),
    })
    .post(
      "/leave",
      async ({ body: { appliance }, request }) => {
        if (appliance === undefined || appliance === "") {
          return refuse({ code: "missing_parameters", fields: ["appliance"] });
        }
        if (appliance !== sources.identity.id) return refuse({ code: "wrong_appliance" });
        return unwrap(await pairMembership.leave(peerOf(request)));
      },
      {
        ...jsonBody(ApplianceBody),
        ...describeRoute({
          plane: "admin",
          id: "leavePair",
          summary: "End the pair",
          description:
            "The host that leads stops answering, and serves alone once it is started without " +
            "pair_log.",
          requiredFields: ["appliance"],
          destructiveEffect:
            "The pair ends: the other host serves no longer, and this host answers only after it " +
            "was started again without pair_log.",
          answersOnStandby: true,
          reply: LeftPair,
          refusals: ["missing_parameters", "wrong_appliance", "not_a_pair", "standby"],
        }),
      },
    );
