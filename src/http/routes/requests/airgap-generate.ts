import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { rfc3339 } from "../../../platform/rfc3339.ts";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { readCode, fields, readIdentifier } from "../../request/fields.ts";
import type { RouteDeps } from "../deps.ts";

const Body = Type.Object(
  { license_key: fields.license_key, signing_key: fields.signing_key },
  { title: "GenerateActivationCodeBody", examples: [{ license_key: "DEMO-AIRGAP" }] },
);

/** Far more than an initialization code has, including dashes and spaces. */
const INITIALIZATION_BYTES = 256;

const Reply = Type.Object(
  {
    activation_code: Type.String({ description: "Activation code to read out to the vendor." }),
    hardware_id: Type.String({
      description: "Hardware id of the machine that the license will be valid on.",
    }),
    expires_at: Type.String({
      format: "date-time",
      description: "Time until which the confirmation code is accepted.",
    }),
  },
  { title: "ActivationCode" },
);

export const airgapGenerate = ({ airgap, peerOf }: RouteDeps) =>
  new Elysia({ name: "airgap-generate" }).post(
    "/api/v4/airgap/generate",
    async ({ body, request }): Promise<typeof Reply.static> => {
      const key = readIdentifier("license_key", body.license_key);
      if (key === null) return refuse({ code: "missing_parameters", fields: ["license_key"] });
      const initialization = readCode("signing_key", body.signing_key, INITIALIZATION_BYTES) ?? "";
      const activation = unwrap(
        await airgap.createActivationCode(key, initialization, peerOf(request)),
      );
      return {
        activation_code: activation.code,
        hardware_id: activation.hardwareId,
        expires_at: rfc3339(activation.expires),
      };
    },
    {
      ...jsonBody(Body),
      ...describeRoute({
        plane: "admin",
        id: "generateActivationCode",
        summary: "Create an activation code for an air-gapped license",
        description: "signing_key is the vendor's initialization code, if the vendor issued one.",
        requiredFields: ["license_key"],
        reply: Reply,
        refusals: ["missing_parameters", "codes_not_for_pairs"],
      }),
    },
  );
