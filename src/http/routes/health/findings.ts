import { Type, type Static } from "@sinclair/typebox";
import { SEVERITIES, type HealthReport } from "../../../operations/health/finding.ts";

const text = Type.String();
const textOrNull = (description: string) =>
  Type.Union([Type.String(), Type.Null()], { description });

export const SeverityReply = Type.Union(
  SEVERITIES.map((severity) => Type.Literal(severity)),
  {
    description:
      "error: something does not work now. warning: it will stop, or is unsafe. note: no action " +
      "is needed.",
  },
);

export const FindingReply = Type.Object(
  {
    code: Type.String({ description: "Stable, for programs." }),
    severity: SeverityReply,
    summary: text,
    remedy: Type.String({ description: "What to do about it; empty: nothing." }),
    command: textOrNull("The command that does it; null: no single command does."),
    subject: textOrNull("The product, the token or the like; null: the server itself."),
  },
  { title: "Finding" },
);

export const PassedCheckReply = Type.Object(
  { check: text, summary: text },
  { title: "PassedCheck" },
);

export type FindingReply = Static<typeof FindingReply>;
export type PassedCheckReply = Static<typeof PassedCheckReply>;

/** The members of a reply that has a health report. */
export const reportReply = ({ findings, passed }: HealthReport) => ({
  findings: [...findings],
  passed_checks: [...passed],
});

/** The opposite of `reportReply`, for a reply of the same version. */
export const parseReport = (reply: {
  readonly findings: readonly FindingReply[];
  readonly passed_checks: readonly PassedCheckReply[];
}) => ({ findings: reply.findings, passed: reply.passed_checks }) as HealthReport;
