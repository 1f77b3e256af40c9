const LICENSE_FILE =
  "a line of a license file, not of an options file; the vendor issues a license for Berth";
const TRUSTED_STORAGE =
  "about activations from trusted storage; Berth has none, its licenses are bound to the server";

/** Why an option that FlexNet knows has no equivalent in the rules, and what Berth has instead. */
export const UNSUPPORTED_KEYWORDS: ReadonlyMap<string, string> = new Map([
  ["TIMEOUT", "the license sets how long a slot lasts without a heartbeat"],
  ["TIMEOUTALL", "the license sets how long a slot lasts without a heartbeat"],
  ["LINGER", "a slot is free as soon as it is released or its time-out has passed"],
  ["REPORTLOG", "Berth records usage by itself: see berth usage and berth report"],
  ["REPORTLOG_ROTATE", "Berth records usage by itself: see berth usage and berth report"],
  ["DEBUGLOG", "Berth writes its log to standard error, and systemd keeps it"],
  ["DEBUGLOG_ROTATE", "Berth writes its log to standard error, and systemd keeps it"],
  ["AUTO_ROLLOVER", "Berth writes its log to standard error, and systemd keeps it"],
  ["NOLOG", "the audit log is always complete; see berth audit"],
  ["FQDN_MATCHING", "host names are compared as callers send them; write them so in `hosts`"],
  ["DAEMON_SELECT_TIMEOUT", "there is no vendor daemon; the server needs no such time-out"],
  ["DAEMON_SELECT_SERVER", "there is no vendor daemon; applications name their server"],
  ["AUTOMATIC_REREAD", "a license counts as soon as berth license add has installed it"],
  ["MAX_CONNECTIONS", "the server limits its open requests by itself"],
  ["MAX_OVERDRAFT", "the license sets how much more than its maximum may be used"],
  ["ACTIVATION_LOWWATER", TRUSTED_STORAGE],
  ["ACTIVATION_EXPIRY_DAYS", TRUSTED_STORAGE],
  ["INCLUDE_ENTITLEMENT", TRUSTED_STORAGE],
  ["INCLUDEALL_ENTITLEMENT", TRUSTED_STORAGE],
  ["EXCLUDE_ENTITLEMENT", TRUSTED_STORAGE],
  ["EXCLUDEALL_ENTITLEMENT", TRUSTED_STORAGE],
  ["SERVER", LICENSE_FILE],
  ["USE_SERVER", LICENSE_FILE],
  ["DAEMON", LICENSE_FILE],
  ["VENDOR", LICENSE_FILE],
  ["FEATURE", LICENSE_FILE],
  ["INCREMENT", LICENSE_FILE],
  ["UPGRADE", LICENSE_FILE],
  ["PACKAGE", LICENSE_FILE],
]);
