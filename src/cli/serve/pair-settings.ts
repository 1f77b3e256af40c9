import { hostname } from "node:os";
import { err, ok, type Result } from "../../domain/result.ts";
import { parseLogUrl, type LogUrl } from "../../operations/pair/open-log.ts";
import { path, text, type InvalidValue } from "../frame/options.ts";
import { wholeNumber } from "../frame/option-parsers.ts";

const parseLog = (text: string): Result<LogUrl, InvalidValue> => {
  const url = parseLogUrl(text);
  if (!("message" in url)) return ok(url);
  const { message: problem, hint } = url;
  return err({ problem, problemWithoutValue: problem, hint });
};

const HOST_NAME = /^[a-z0-9](?:[a-z0-9.-]{0,61}[a-z0-9])?$/;

const parseHostName = (text: string): Result<string, InvalidValue> =>
  HOST_NAME.test(text)
    ? ok(text)
    : err({
        problem: "must be 1 to 63 small letters, digits, dots and hyphens",
        hint: "for example license1",
      });

/** The first part of the machine's name, as far as it is a valid name of a host. */
function defaultHostName(): string {
  const name = (hostname().split(".")[0] ?? "").toLowerCase();
  return HOST_NAME.test(name) ? name : "berth";
}

const parseClientUrl = (text: string): Result<string, InvalidValue> =>
  /^https?:\/\/[\w.:%[\]-]+\/?$/i.test(text)
    ? ok(text)
    : err({ problem: "must be a URL without a path", hint: "for example https://license1:8443" });

const WRONG_LOG = "with another log, both hosts of a pair would answer";

/** The settings of a host of a pair. */
export const pairSettings = {
  pairLog: text(
    "--pair-log URL",
    "the PostgreSQL database that this host shares with the other one of a pair",
    { fixedReason: WRONG_LOG, parse: parseLog },
  ),
  pairLogPasswordFile: path(
    "--pair-log-password-file FILE",
    "a file with the password of that database",
    { fixedReason: WRONG_LOG },
  ),
  pairHost: text("--pair-host NAME", "the name of this host in the pair", {
    fixedReason: "the pair knows this host by its name",
    defaultValue: defaultHostName,
    parse: parseHostName,
    defaultDescription: "the machine's host name",
  }),
  pairUrl: text(
    "--pair-url URL",
    "where clients reach this host; the other one names it in its refusals",
    { fixedReason: "clients would be sent to another server", parse: parseClientUrl },
  ),
  pairTakeoverSeconds: text(
    "--pair-takeover-seconds N",
    "after how many seconds without a sign of the leader the other host leads",
    {
      fixedReason: "both hosts must have the same value",
      defaultValue: "10",
      parse: wholeNumber(1, 60, "a number of seconds", "for example 10"),
    },
  ),
};
