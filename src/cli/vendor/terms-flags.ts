import type { OptionTable } from "../frame/define-command.ts";
import type { Option } from "../frame/options.ts";

/** One term as an option, and the field of a terms file that it sets. */
export interface TermOption extends Option {
  readonly type: "string";
  readonly field: string;
  readonly valueType: "text" | "number" | "time";
  /** "never" and "none" remove the term. */
  readonly canBeUnset: boolean;
}

const TYPES = "perpetual, time-limited, subscription or consumption";
const PERIODS = "daily, weekly, monthly or annually";

const term = (
  name: string,
  placeholder: string,
  help: string,
  valueType: TermOption["valueType"],
  canBeUnset = false,
  field = name.replaceAll("-", "_"),
): TermOption => ({ name, type: "string", placeholder, help, valueType, canBeUnset, field });

/** The terms with a value. */
export const TERMS = {
  product: term("product", "CODE", "the product code", "text"),
  productName: term("product-name", "NAME", "the product's name; default: its code", "text"),
  licenseType: term(
    "license-type",
    "TYPE",
    `${TYPES}; default perpetual, or time-limited with --valid-until`,
    "text",
  ),
  customer: term("customer", "NAME", "the customer's name, or none", "text", true),
  metadata: term("metadata", "TEXT", "a text for the application, or none", "text", true),
  slots: term("slots", "N", "maximum number of concurrent users; default 1", "number"),
  timeoutMinutes: term(
    "timeout-minutes",
    "N",
    "minutes until a slot without a heartbeat is released; default 15",
    "number",
  ),
  start: term("start", "DAY", "the first valid day, from 00:00 UTC, or none", "time", true),
  validUntil: term(
    "valid-until",
    "DAY",
    "the last valid day (in UTC), an RFC 3339 time, or never",
    "time",
    true,
  ),
  maintenanceUntil: term(
    "maintenance-until",
    "DAY",
    "the last day of maintenance, an RFC 3339 time, or never",
    "time",
    true,
  ),
  graceHours: term(
    "grace-hours",
    "N",
    "hours the license stays usable after its end, or none",
    "number",
    true,
  ),
  borrowHours: term(
    "borrow-hours",
    "N",
    "maximum hours a slot can be borrowed; default none",
    "number",
    true,
  ),
  moveGraceHours: term(
    "move-grace-hours",
    "N",
    "hours the license stays valid on other hardware after a move; default 72",
    "number",
  ),
  restoreGraceHours: term(
    "restore-grace-hours",
    "N",
    "hours it stays valid on other hardware after a restore; default none; lends slots twice",
    "number",
    true,
  ),
  reportEveryDays: term(
    "report-every-days",
    "N",
    "remind the site to send a usage statement this often, or none; needs Berth 0.2.0 there",
    "number",
    true,
  ),
  consumptions: term(
    "consumptions",
    "N",
    "maximum consumption, unlimited, or none (consumption is not counted)",
    "number",
    false,
    "consumption.max",
  ),
  overages: term(
    "overages",
    "N",
    "consumption allowed above the maximum; default 0",
    "number",
    false,
    "consumption.overages",
  ),
  period: term(
    "period",
    "PERIOD",
    `how often the count resets: ${PERIODS}, or none`,
    "text",
    true,
    "consumption.period",
  ),
} as const;

/** A term that is yes or no, as two options. */
const onOff = (field: string, yes: string, yesHelp: string, no: string, noHelp: string) =>
  ({
    field,
    yes: { name: yes, type: "boolean", help: yesHelp },
    no: { name: no, type: "boolean", help: noHelp },
  }) as const;

/** The terms that are yes or no. */
export const SWITCHES = {
  trial: onOff("trial", "trial", "a trial license", "no-trial", "not a trial license (default)"),
  enabled: onOff(
    "enabled",
    "enabled",
    "the license grants slots (default)",
    "disabled",
    "the license grants nothing",
  ),
  earlyReturn: onOff(
    "early_return",
    "early-return",
    "a borrowed slot can be returned early (default)",
    "no-early-return",
    "a borrowed slot stays in use until the borrow ends",
  ),
  negative: onOff(
    "consumption.negative",
    "negative",
    "negative consumption is allowed",
    "no-negative",
    "negative consumption is not allowed (default)",
  ),
};

/** License terms as options. Terms without one stay as in the earlier license, or get defaults. */
export const termsOptions = {
  ...TERMS,
  trial: SWITCHES.trial.yes,
  noTrial: SWITCHES.trial.no,
  enabled: SWITCHES.enabled.yes,
  disabled: SWITCHES.enabled.no,
  earlyReturn: SWITCHES.earlyReturn.yes,
  noEarlyReturn: SWITCHES.earlyReturn.no,
  negative: SWITCHES.negative.yes,
  noNegative: SWITCHES.negative.no,
  features: {
    name: "feature",
    type: "list",
    placeholder: "CODE[:SETTING=VALUE]…",
    help: "a feature, or changes to it; settings: name, slots, timeout (in minutes), consumptions, overages, negative (yes or no), period, ends (a day) and metadata, which must be last; can be repeated",
    canContainCommas: true,
  },
  withoutFeatures: {
    name: "no-feature",
    type: "list",
    placeholder: "CODE",
    help: "remove this feature; can be repeated",
  },
  terms: {
    name: "terms",
    type: "string",
    placeholder: "FILE",
    help: "JSON file with terms (berth vendor terms prints an example); flags override the file",
    isPath: true,
  },
} as const satisfies OptionTable;
