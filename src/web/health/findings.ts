import { computed } from "@preact/signals";
import type { FindingReply } from "../../http/routes/health/findings.ts";
import { serverStatus } from "../status-stream.ts";

export type Finding = FindingReply;
export type Severity = Finding["severity"];

/** Whether an operator should act; a note needs no action. */
export const needsAttention = ({ severity }: Pick<Finding, "severity">): boolean =>
  severity !== "note";

/** The number of errors and warnings, for the badge and the title. */
export const healthCount = computed(
  () => serverStatus.value?.findings.filter(needsAttention).length ?? 0,
);

const EXPOSURE = /^(?:admin_open|clients_open|networks_wide|plain_|token_no_expiry|pair_database_)/;

/** Open access to the server. */
export const isExposure = ({ code }: Pick<Finding, "code">): boolean => EXPOSURE.test(code);

/** Several findings may have the same code. */
export const keyOf = ({ code, summary }: Finding): string => `${code} ${summary}`;
