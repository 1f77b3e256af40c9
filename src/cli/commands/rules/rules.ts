import type {
  AppliedRulesReply,
  ExplanationReply,
  RulesCheckReply,
  RulesReply,
} from "../../../http/routes/rules/rules-reply.ts";
import { readFolderUse } from "../../../operations/folder/folder-contents.ts";
import { sha256 } from "../../../platform/crypto/hash.ts";
import { parseRules } from "../../../rules/parse-rules.ts";
import type { RulesFinding } from "../../../rules/rules-finding.ts";
import { checkRules, hasErrors } from "../../../rules/site-findings.ts";
import {
  setFields,
  unwrapReply,
  withAdminClient,
  type AdminClient,
} from "../../client/admin-client.ts";
import { readInputText } from "../../files/output-document.ts";
import { describeInput } from "../../files/input-file.ts";
import { refuseToReplace, writeOutputText } from "../../files/output-file.ts";
import { Failure } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option, siteOptions } from "../../frame/flags.ts";
import { Misuse, text } from "../../frame/options.ts";
import { formatCount, withProgress } from "../../frame/terminal.ts";
import { formatExplanation, formatFindings, formatPreview } from "../../client/rules-texts.ts";

const WHAT = "a file with sharing rules";

const check = defineCommand({
  name: "rules check",
  summary: "check a file with sharing rules, and show who would be affected",
  options: { ...siteOptions, json: option.json },
  arguments: ["FILE"],
  examples: ["berth rules check rules.toml", "berth rules check - <rules.toml"],
  async run(site, context) {
    const [file] = context.args;
    const text = readInputText(file, WHAT);
    // Without a data folder, the text itself can be checked.
    const reply: RulesCheckReply =
      readFolderUse(site.data) === "used"
        ? await withProgress("checking the rules", () =>
            withAdminClient(site, context, ({ admin }) =>
              unwrapReply(admin.rules.check.post({ text })),
            ),
          )
        : checkText(text);
    const { findings, preview } = reply;
    const name = describeInput(file ?? "");
    return {
      json: reply,
      text: [
        ...formatFindings(findings, name),
        ...formatPreview(preview),
        describeCount(findings),
      ].join("\n"),
      notes:
        readFolderUse(site.data) === "used"
          ? []
          : ["no data folder: products, slots and holders were not compared; use --data"],
      failure: hasErrors(findings) ? invalidRulesError(findings, name) : null,
    };
  },
});

const checkText = (text: string): RulesCheckReply => ({
  digest: sha256(text),
  findings: [...checkRules(parseRules(text), null)],
  preview: null,
});

const countErrors = (findings: readonly RulesFinding[]): number =>
  findings.filter(({ severity }) => severity === "error").length;

function describeCount(findings: readonly RulesFinding[]): string {
  const errors = countErrors(findings);
  return errors === 0
    ? `no errors, ${formatCount(findings.length, "warning")}`
    : `${formatCount(errors, "error")}, ${formatCount(findings.length - errors, "warning")}`;
}

/** Printed instead of the result, so it has all findings. */
const invalidRulesError = (findings: readonly RulesFinding[], name: string): Failure =>
  new Failure(
    `${name} has ${formatCount(countErrors(findings), "error")}:\n${formatFindings(findings, name).join("\n")}`,
    "correct them, and check again; berth help guide sharing rules has an example",
    "invalid_rules",
  );

const apply = defineCommand({
  name: "rules apply",
  isCommon: true,
  summary: "replace all sharing rules of the site with those of a file",
  options: { ...siteOptions, json: option.json },
  arguments: ["FILE"],
  examples: ["berth rules apply rules.toml"],
  async run(site, context) {
    const [file] = context.args;
    const text = readInputText(file, WHAT);
    const name = describeInput(file ?? "");
    if (text.trim() === "") {
      throw new Failure(`${name} is empty`, "berth rules clear removes all rules");
    }
    return withAdminClient(site, context, async ({ admin }) => {
      const checked = await withProgress("checking the rules", () =>
        unwrapReply(admin.rules.check.post({ text })),
      );
      if (hasErrors(checked.findings)) throw invalidRulesError(checked.findings, name);
      const { digest } = await unwrapReply(admin.rules.get());
      const headers = { "if-match": `"${digest}"` };
      const reply = await withProgress("applying the rules", () =>
        unwrapReply(admin.rules.put({ text }, { headers })),
      );
      return {
        json: { ...reply, preview: checked.preview },
        text: [
          ...formatFindings(reply.findings, name),
          ...formatPreview(checked.preview),
          describeApplied(reply, digest),
        ].join("\n"),
      };
    });
  },
});

function describeApplied(reply: AppliedRulesReply, before: string): string {
  if (reply.digest === before) return "these rules are already applied";
  const groups = formatCount(reply.groups, "group");
  return `rules applied: ${groups}, rules for ${describePools(reply.pools)}`;
}

const describePools = (pools: number): string =>
  pools === 1 ? "1 product or feature" : `${pools} products and features`;

const show = defineCommand({
  name: "rules show",
  summary: "show the sharing rules of the site as they were applied",
  options: { ...siteOptions, out: option.out, json: option.json },
  examples: ["berth rules show", "berth rules show --out rules.toml"],
  async run({ out, ...site }, context) {
    if (out !== null && site.json) {
      const hint = "the JSON output contains the text of the rules";
      throw new Misuse("--out and --json cannot be combined", hint);
    }
    if (out !== null) refuseToReplace(out);
    const reply = await withAdminClient(site, context, readRules);
    return {
      json: reply,
      async text() {
        if (reply.applied_at === null) return "no sharing rules are applied";
        if (out === null) return { document: reply.text.trimEnd() };
        await writeOutputText(out, reply.text);
        return `the rules are written to ${out}`;
      },
      notes: reply.applied_at === null || site.json ? [] : [`applied at ${reply.applied_at}`],
    };
  },
});

const readRules = ({ admin }: AdminClient): Promise<RulesReply> => unwrapReply(admin.rules.get());

const clear = defineCommand({
  name: "rules clear",
  summary: "remove all sharing rules of the site",
  options: { ...siteOptions, json: option.json },
  examples: ["berth rules clear"],
  run: (site, context) =>
    withAdminClient(site, context, async (client) => {
      const before = await readRules(client);
      const headers = { "if-match": `"${before.digest}"` };
      const reply = await unwrapReply(client.admin.rules.clear.post({}, { headers }));
      const text =
        before.applied_at === null ? "no sharing rules were applied" : "the rules are removed";
      return { json: reply, text };
    }),
});

const explain = defineCommand({
  name: "rules explain",
  summary: "explain what the rules decide for a user, with the lines that apply",
  options: {
    ...siteOptions,
    user: text("--user NAME", "the user name that the application sends", {
      isRequired: true,
      missingHint: "for example berth rules explain --user ada --product CAD",
    }),
    host: text("--host NAME", "the host name that the application sends"),
    from: text("--from ADDRESS", "the address that the call comes from"),
    login: text("--login NAME", "the login of the call, with client_auth = login"),
    product: option.slotProduct,
    feature: text("--feature CODE", "a floating feature of the product, instead of its own slots"),
    json: option.json,
  },
  examples: ["berth rules explain --user ada --host ws-3 --from 10.1.4.9 --product CAD"],
  async run({ user, host, from, login, product, feature, ...site }, context) {
    const reply = await withAdminClient(site, context, ({ admin }) =>
      unwrapReply(
        admin.rules.explain.get({
          query: setFields({ user, host, from, login, product, feature }),
        }),
      ),
    );
    return {
      json: reply,
      text: () => formatExplanation(reply),
      notes: site.json || reply.steps.length === 0 ? [] : listUnknownFacts(reply, { host, from }),
    };
  },
});

/** A caller always has an address, and most send a host name: without them, groups do not match. */
const listUnknownFacts = (
  { facts_of_groups: facts }: ExplanationReply,
  { host, from }: Readonly<Record<"host" | "from", string | null>>,
): string[] => [
  ...(host === null && facts.includes("hosts")
    ? ["groups by hosts did not match: name the caller's host with --host"]
    : []),
  ...(from === null && facts.includes("networks")
    ? ["groups by networks did not match: name the caller's address with --from"]
    : []),
];

export const rulesCommands = [check, apply, show, explain, clear];
