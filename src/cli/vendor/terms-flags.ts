import { flag, list, path, text, type Option } from "../frame/options.ts";

/** One term as an option, and the field of a terms file that it sets. */
export interface TermOption extends Option {
  readonly type: "string";
  readonly field: string;
  readonly isNumber: boolean;
  /** "never" and "none" remove the term. */
  readonly canBeUnset: boolean;
}

const TYPES = "perpetual, time-limited, subscription or consumption";
const PERIODS = "daily, weekly, monthly or annually";

type Details = Partial<Pick<TermOption, "field" | "isNumber" | "canBeUnset">>;

function term(flag: string, help: string, details: Details = {}): TermOption {
  const option = text(flag, help);
  const field = option.name.replaceAll("-", "_");
  return { ...option, field, isNumber: false, canBeUnset: false, ...details };
}

/** The terms with a value. */
export const TERMS = {
  product: term("--product CODE", "the product code"),
  productName: term("--product-name NAME", "the product's name; default: its code"),
  licenseType: term(
    "--license-type TYPE",
    `${TYPES}; default time-limited, or perpetual with --valid-until never`,
  ),
  customer: term("--customer NAME", "the customer's name, or none", { canBeUnset: true }),
  metadata: term("--metadata TEXT", "a text for the application, or none", { canBeUnset: true }),
  slots: term("--slots N", "maximum number of concurrent users; default 1", { isNumber: true }),
  timeoutMinutes: term(
    "--timeout-minutes N",
    "minutes until a slot without a heartbeat is released; default 15",
    { isNumber: true },
  ),
  start: term("--start DAY", "the first valid day, from 00:00 UTC, or none", { canBeUnset: true }),
  validUntil: term(
    "--valid-until DAY",
    "the last valid day (in UTC), an RFC 3339 time, or never; a new license or policy needs it",
    { canBeUnset: true },
  ),
  maintenanceUntil: term(
    "--maintenance-until DAY",
    "the last day of maintenance, an RFC 3339 time, or never",
    { canBeUnset: true },
  ),
  graceHours: term("--grace-hours N", "hours the license stays usable after its end, or none", {
    isNumber: true,
    canBeUnset: true,
  }),
  borrowHours: term("--borrow-hours N", "maximum hours a slot can be borrowed; default none", {
    isNumber: true,
    canBeUnset: true,
  }),
  moveGraceHours: term(
    "--move-grace-hours N",
    "hours the license stays valid on other hardware after a move; default 72",
    { isNumber: true },
  ),
  restoreGraceHours: term(
    "--restore-grace-hours N",
    "hours it stays valid on other hardware after a restore; default none; lends slots twice",
    { isNumber: true, canBeUnset: true },
  ),
  reportEveryDays: term(
    "--report-every-days N",
    "remind the site to send a usage statement this often, or none",
    { isNumber: true, canBeUnset: true },
  ),
  consumptions: term(
    "--consumptions N",
    "maximum consumption, unlimited, or none (consumption is not counted)",
    { isNumber: true, field: "consumption.max" },
  ),
  overages: term("--overages N", "consumption allowed above the maximum; default 0", {
    isNumber: true,
    field: "consumption.overages",
  }),
  period: term("--period PERIOD", `how often the count resets: ${PERIODS}, or none`, {
    canBeUnset: true,
    field: "consumption.period",
  }),
} as const;

/** The terms that are yes or no, as two options. */
export const SWITCHES = {
  trial: {
    field: "trial",
    yes: flag("--trial", "a trial license"),
    no: flag("--no-trial", "not a trial license (default)"),
  },
  enabled: {
    field: "enabled",
    yes: flag("--enabled", "the license grants slots (default)"),
    no: flag("--disabled", "the license grants nothing"),
  },
  earlyReturn: {
    field: "early_return",
    yes: flag("--early-return", "a borrowed slot can be returned early (default)"),
    no: flag("--no-early-return", "a borrowed slot stays in use until the borrow ends"),
  },
  negative: {
    field: "consumption.negative",
    yes: flag("--negative", "negative consumption is allowed"),
    no: flag("--no-negative", "negative consumption is not allowed (default)"),
  },
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
  features: list(
    "--feature CODE[:SETTING=VALUE]…",
    "a feature, or changes to it; settings: name, slots, timeout (in minutes), consumptions, overages, negative (yes or no), period, ends (a day) and metadata, which must be last; can be repeated",
    { canContainCommas: true },
  ),
  withoutFeatures: list("--no-feature CODE", "remove this feature; can be repeated"),
  terms: path(
    "--terms FILE",
    "JSON file with terms (berth vendor terms prints an example); flags override the file",
  ),
};
