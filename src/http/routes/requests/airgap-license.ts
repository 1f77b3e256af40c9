import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { jsonBody } from "../../request/body.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import { readCode, fields, readIdentifier } from "../../request/fields.ts";
import { licenseObject, LicenseObject } from "../licenses/license-object.ts";
import type { RouteDeps } from "../deps.ts";

const Body = Type.Object(
  {
    license_policy: fields.license_policy,
    license_key: fields.license_key,
    policy_id: fields.policy_id,
    confirmation_code: fields.confirmation_code,
  },
  {
    title: "AddAirgapLicenseBody",
    examples: [
      {
        license_policy: "eyJhbGciOiJFZERTQSIs…",
        license_key: "DEMO-AIRGAP",
        policy_id: "demo",
        confirmation_code: "NJX31-RYE2M-F58Z4-NMM6V …",
      },
    ],
  },
);

export const airgapLicense = ({ airgap, peerOf }: RouteDeps) =>
  new Elysia({ name: "airgap-license" }).post(
    "/api/v4/airgap/license",
    async ({ body, request }) => {
      const policy = readCode("license_policy", body.license_policy);
      const licenseKey = readIdentifier("license_key", body.license_key);
      const confirmation = readCode("confirmation_code", body.confirmation_code);
      if (policy === null || licenseKey === null || confirmation === null) {
        const required = {
          license_policy: policy,
          license_key: licenseKey,
          confirmation_code: confirmation,
        };
        const missing = Object.entries(required).filter(([, value]) => value === null);
        return refuse({ code: "missing_parameters", fields: missing.map(([name]) => name) });
      }
      const installed = await airgap.installLicense({
        policy,
        licenseKey,
        policyId: readIdentifier("policy_id", body.policy_id),
        code: confirmation,
        peer: peerOf(request),
      });
      return licenseObject(unwrap(installed), null);
    },
    {
      ...jsonBody(Body, { large: true }),
      ...describeRoute({
        plane: "admin",
        id: "addAirgapLicense",
        summary: "Add an air-gapped license",
        description:
          "Takes the vendor's policy, as received or encoded in base64, and the code that confirms it " +
          "for this appliance. The same body again returns the same result.",
        requiredFields: ["license_policy", "license_key", "confirmation_code"],
        reply: LicenseObject,
        refusals: [
          "missing_parameters",
          "invalid_license_file",
          "untrusted_vendor",
          "trust_outdated",
          "retired_key",
          "key_ended",
          "policy_mismatch",
          "invalid_confirmation_code",
          "stale_license",
          "codes_not_for_pairs",
          "too_many_requests",
        ],
      }),
    },
  );
