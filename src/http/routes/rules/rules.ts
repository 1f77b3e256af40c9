import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { RULES_LIMITS } from "../../../rules/limits.ts";
import { describeRoute } from "../../openapi/describe-route.ts";
import { refuse, unwrap } from "../../faults.ts";
import {
  AppliedRulesReply,
  explanationReply,
  ExplanationReply,
  rulesCheckReply,
  RulesCheckReply,
  rulesReply,
  RulesReply,
} from "./rules-reply.ts";
import { jsonBody } from "../../request/body.ts";
import { field, fields, readIdentifier } from "../../request/fields.ts";
import { readIfMatch } from "../../request/if-match.ts";
import { readQuery } from "../../request/query.ts";
import type { RouteDeps } from "../deps.ts";

/** JSON writes a line break or a quote as two characters. */
const MAX_BODY_BYTES = 2 * RULES_LIMITS.bytes;

const RulesBody = Type.Object(
  { text: field("The rules as TOML, at most 1 MiB.", { bytes: RULES_LIMITS.bytes }) },
  { title: "RulesBody" },
);

const NoBody = Type.Object({}, { title: "NoRulesBody" });

const ExplainQuery = Type.Object({
  user: fields.user,
  host: field("Host name that the caller would send.", { bytes: 256 }),
  from: field("Address of the caller.", { bytes: 256 }),
  login: field("Login of the caller, with client_auth = login.", { bytes: 256 }),
  product: fields.product,
  feature: field("A floating feature. Absent: the slots of the product itself.", { bytes: 256 }),
});

const REPLACE_REFUSALS = [
  "precondition_required",
  { code: "invalid_parameter", field: "If-Match", expected: "a digest in double quotes, or *" },
  "rules_changed",
] as const;

/** The site's rules of sharing. */
export const rules = ({ sharingRules, serverAccess, peerOf, keepOpen }: RouteDeps) =>
  new Elysia({ name: "rules", prefix: "/api/admin/v1/rules" })
    .get(
      "",
      async ({ set }): Promise<RulesReply> => {
        const reply = rulesReply(unwrap(await sharingRules.read()));
        set.headers["etag"] = `"${reply.digest}"`;
        return reply;
      },
      describeRoute({
        plane: "admin",
        id: "getRules",
        summary: "Get the sharing rules of the site",
        reply: RulesReply,
      }),
    )
    .put(
      "",
      async ({ body, request, set }): Promise<AppliedRulesReply> => {
        const expected = readIfMatch(request);
        const release = keepOpen(request);
        try {
          const clientAuth = serverAccess()?.clientAuth ?? null;
          const applied = unwrap(
            await sharingRules.apply(readText(body), expected, clientAuth, peerOf(request)),
          );
          set.headers["etag"] = `"${applied.digest}"`;
          return { ...rulesReply(applied), findings: [...applied.findings] };
        } finally {
          release();
        }
      },
      {
        ...jsonBody(RulesBody, { maxBytes: MAX_BODY_BYTES }),
        ...describeRoute({
          plane: "admin",
          id: "applyRules",
          summary: "Replace the sharing rules of the site",
          description:
            "All rules are replaced at once, or none. No user loses a slot: rules judge new slots " +
            "and new borrows only. Rules with errors are refused; the reply lists the warnings.",
          requiredFields: ["text"],
          requiresIfMatch: true,
          destructiveEffect: "The present rules are replaced.",
          reply: AppliedRulesReply,
          refusals: [
            "missing_parameters",
            "invalid_rules",
            "rules_over_reserved",
            "maintenance_failed",
            ...REPLACE_REFUSALS,
          ],
        }),
      },
    )
    .post(
      "/clear",
      async ({ request, set }): Promise<AppliedRulesReply> => {
        const expected = readIfMatch(request);
        const cleared = unwrap(await sharingRules.apply("", expected, null, peerOf(request)));
        set.headers["etag"] = `"${cleared.digest}"`;
        return { ...rulesReply(cleared), findings: [...cleared.findings] };
      },
      {
        ...jsonBody(NoBody, { emptyAllowed: true }),
        ...describeRoute({
          plane: "admin",
          id: "clearRules",
          summary: "Remove the sharing rules of the site",
          requiresIfMatch: true,
          destructiveEffect: "All sharing rules are removed.",
          reply: AppliedRulesReply,
          refusals: REPLACE_REFUSALS,
        }),
      },
    )
    .post(
      "/check",
      async ({ body, request }): Promise<RulesCheckReply> => {
        const release = keepOpen(request);
        try {
          const clientAuth = serverAccess()?.clientAuth ?? null;
          const checked = sharingRules.check(readText(body), clientAuth, request.signal);
          return rulesCheckReply(unwrap(await checked));
        } finally {
          release();
        }
      },
      {
        ...jsonBody(RulesBody, { maxBytes: MAX_BODY_BYTES }),
        ...describeRoute({
          plane: "admin",
          changesNothing: true,
          id: "checkRules",
          summary: "Check sharing rules",
          description:
            "Changes nothing. Lists everything that is wrong, with its line, and who would be " +
            "affected by the rules.",
          requiredFields: ["text"],
          reply: RulesCheckReply,
          refusals: ["missing_parameters", "maintenance_failed", "too_many_jobs"],
        }),
      },
    )
    .get(
      "/explain",
      async ({ request, set }): Promise<ExplanationReply> => {
        const query = readQuery(ExplainQuery, request, set.headers);
        const user = readIdentifier("user", query.user);
        if (user === null) return refuse({ code: "missing_parameters", fields: ["user"] });
        const explanation = await sharingRules.explain({
          user,
          host: readIdentifier("host", query.host) ?? "",
          address: readIdentifier("from", query.from) ?? "",
          login: readIdentifier("login", query.login),
          certificate: null,
          product: readIdentifier("product", query.product),
          feature: readIdentifier("feature", query.feature),
        });
        return explanationReply(unwrap(explanation));
      },
      describeRoute({
        plane: "admin",
        id: "explainRules",
        summary: "Explain what the rules decide for a caller",
        description:
          "Decides a claim as register and borrow would decide it now, and changes nothing. It " +
          "lists the rules that apply, with their lines and numbers.",
        query: ExplainQuery,
        requiredFields: ["user"],
        reply: ExplanationReply,
        refusals: ["missing_parameters"],
      }),
    );

/** The text as it is: an empty text removes all rules. */
const readText = ({ text }: { readonly text?: string }): string =>
  text ?? refuse({ code: "missing_parameters", fields: ["text"] });
