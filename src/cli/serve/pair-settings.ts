import { hostname } from "node:os";
import { err, ok, type Result } from "../../domain/result.ts";
import { parseLogUrl, type LogUrl } from "../../operations/pair/open-log.ts";
import type { InvalidValue, Option } from "../frame/options.ts";
import { matchingNumber } from "../frame/option-parsers.ts";

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
  pairLog: {
    name: "pair-log",
    type: "string",
    placeholder: "URL",
    help: "the PostgreSQL database that this host shares with the other one of a pair",
    isSetting: true,
    fixedReason: WRONG_LOG,
    parse: parseLog,
  },
  pairLogPasswordFile: {
    name: "pair-log-password-file",
    type: "string",
    placeholder: "FILE",
    help: "a file with the password of that database",
    isSetting: true,
    fixedReason: WRONG_LOG,
    isPath: true,
  },
  pairHost: {
    name: "pair-host",
    type: "string",
    placeholder: "NAME",
    help: "the name of this host in the pair",
    isSetting: true,
    fixedReason: "the pair knows this host by its name",
    defaultValue: defaultHostName,
    parse: parseHostName,
    defaultDescription: "the machine's host name",
  },
  pairUrl: {
    name: "pair-url",
    type: "string",
    placeholder: "URL",
    help: "where clients reach this host; the other one names it in its refusals",
    isSetting: true,
    fixedReason: "clients would be sent to another server",
    parse: parseClientUrl,
  },
  pairTakeoverSeconds: {
    name: "pair-takeover-seconds",
    type: "string",
    placeholder: "N",
    help: "after how many seconds without a sign of the leader the other host leads",
    isSetting: true,
    fixedReason: "both hosts must have the same value",
    defaultValue: () => "10",
    parse: matchingNumber(/^(?:[1-9]|[1-5]\d|60)$/, {
      problem: "must be a number of seconds from 1 to 60",
      hint: "for example 10",
    }),
  },
} as const satisfies Readonly<Record<string, Option>>;
