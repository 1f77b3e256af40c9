import { ok } from "../../../domain/result.ts";
import { Failure } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { matchingNumber } from "../../frame/option-parsers.ts";
import { option } from "../../frame/flags.ts";
import { Misuse, path, text } from "../../frame/options.ts";
import {
  CHECKS,
  CRITICAL,
  formatPluginLine,
  OK,
  PLUGIN_STATES,
  UNKNOWN,
  type CheckName,
  type CheckResult,
  type Thresholds,
} from "../../monitoring/checks.ts";
import {
  fetchLocalMetrics,
  fetchRemoteMetrics,
  ServerDown,
} from "../../monitoring/fetch-metrics.ts";
import { MetricSamples } from "../../monitoring/parse-metrics.ts";

const ALL = "all";
const NAMES = Object.keys(CHECKS) as CheckName[];

const limit = matchingNumber(/^\d{1,9}$/, "must be a whole number", "for example 90");

/** A plugin for Nagios, Icinga and the like: one line, and the state as the exit code. */
export const checkCommand = defineCommand({
  name: "check",
  summary: "check a running server as a Nagios plugin: exit code 0, 1, 2 or 3",
  options: {
    data: option.data,
    config: option.config,
    url: text(
      "--url URL",
      "check the server at this address instead of the one of the data folder",
    ),
    tokenFile: path("--token-file FILE", "a file with a token of the role metrics, for --url"),
    caFile: path("--ca-file FILE", "the CA certificate of the server (PEM), for --url"),
    warning: text("--warning N", "limit of the state WARNING: percent, days, hours or MiB", {
      short: "w",
      parse: limit,
    }),
    critical: text("--critical N", "limit of the state CRITICAL: percent, days, hours or MiB", {
      short: "c",
      parse: limit,
    }),
    json: option.json,
  },
  arguments: ["[CHECK]"],
  valueList: {
    title: "checks, and the units of their limits",
    values: [
      ALL,
      ...NAMES.map((name) => {
        const { unit } = CHECKS[name];
        return unit === null ? name : `${name} (${unit})`;
      }),
    ],
  },
  examples: [
    "berth check",
    "berth check slots -w 80 -c 100",
    "berth check licenses --warning 60 --critical 14",
    "berth check --url https://berth.plant7.lan:8443 --token-file /etc/nagios/berth.token",
  ],
  describeFailure: ({ statement, hint }) => ({
    text: formatPluginLine(UNKNOWN, hint === "" ? [statement] : [statement, hint], []),
    exitCode: UNKNOWN,
  }),
  async run({ data, url, tokenFile, caFile, warning, critical }, { args: [word] }) {
    const thresholds = { warning, critical };
    const names = selectChecks(word ?? ALL, thresholds);
    if (url === null && (tokenFile !== null || caFile !== null)) {
      throw new Misuse("--token-file and --ca-file require --url", "add --url URL");
    }
    const fetched = await fetchOrDown(() =>
      url === null ? fetchLocalMetrics(data) : fetchRemoteMetrics({ url, tokenFile, caFile }),
    );
    if (!fetched.ok) return toOutcome(CRITICAL, [fetched.fault], []);
    const metrics = new MetricSamples(fetched.value);
    if (metrics.list("berth_build_info").length === 0) {
      throw new Failure("the answer has no metrics of Berth", "check the address of the server");
    }
    return summarize(names.map((name) => CHECKS[name].run(metrics, thresholds)));
  },
});

async function fetchOrDown(fetchMetrics: () => Promise<string>) {
  try {
    return ok(await fetchMetrics());
  } catch (error) {
    if (error instanceof ServerDown) return { ok: false, fault: error.message } as const;
    throw error;
  }
}

function selectChecks(word: string, { warning, critical }: Thresholds): readonly CheckName[] {
  const hasLimits = warning !== null || critical !== null;
  const name = NAMES.find((candidate) => candidate === word);
  if (name === undefined && word !== ALL) {
    throw new Misuse(`unknown check: ${word}`, `the checks are ${ALL}, ${NAMES.join(", ")}`);
  }
  if (hasLimits && (name === undefined || CHECKS[name].unit === null)) {
    throw new Misuse(`the check ${word} has no limits`, "berth check slots -w 80 -c 100");
  }
  const isRising = name === "slots" || name === "backup";
  const [lower, higher] = isRising ? [warning, critical] : [critical, warning];
  if (lower !== null && higher !== null && lower > higher) {
    throw new Misuse(
      `--warning ${warning} is worse than --critical ${critical}`,
      `of ${word}, the limit of WARNING is ${isRising ? "at most" : "at least"} that of CRITICAL`,
    );
  }
  return name === undefined ? NAMES : [name];
}

function summarize(results: readonly CheckResult[]) {
  const findings = results.flatMap((result) => result.findings);
  const state = Math.max(OK, ...findings.map((finding) => finding.state));
  // The worst first; if nothing is wrong, everything that was checked.
  const shown = findings
    .filter((finding) => state === OK || finding.state > OK)
    .toSorted((a, b) => b.state - a.state);
  const texts = shown.length === 0 ? ["nothing to report"] : shown.map(({ text }) => text);
  return toOutcome(
    state,
    texts,
    results.flatMap(({ perfdata }) => perfdata),
  );
}

const toOutcome = (state: number, messages: readonly string[], perfdata: readonly string[]) => ({
  json: { state: PLUGIN_STATES[state] ?? "UNKNOWN", messages, perfdata },
  text: { raw: formatPluginLine(state, messages, perfdata) },
  exitCode: state,
});
