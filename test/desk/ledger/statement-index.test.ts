// Statements are found in the ledger without parsing their lines.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findStatement } from "../../../src/desk/ledger/statement-index.ts";
import { goTo, makeStatement, openReportingSite, receive } from "../../support/reporting-site.ts";

const find = (line: string) => findStatement(Buffer.from(line), 7);

test("every line that a desk writes for a statement is recognized without parsing, and no other", async () => {
  const { desk, site, folder } = await openReportingSite();
  goTo(site, 3);
  const { appliance } = await receive(desk, (await makeStatement(site)).document);
  const lines = readFileSync(join(folder, "ledger.jsonl"), "utf8").trimEnd().split("\n");
  const found = lines.map((line) => find(line));
  const length = lines.at(-1)?.length ?? 0;
  expect(found.at(-1)).toEqual({ type: "position", appliance, from: 7, length });
  expect(found.slice(0, -1).every((position) => position === null)).toBe(true);
});

const LINE = '{"type":"statement","at":"2026-03-02T09:00:00.000Z","appliance":"A1"';

test.each([
  ["complete", `${LINE}}`, "A1"],
  ["with another type", `${LINE}}`.replace("statement", "statemenu"), null],
  ["with a time of another length", `${LINE}}`.replace(".000Z", "Z"), null],
  ["with another member", `${LINE}}`.replace("appliance", "applianca"), null],
  ["with an escaped appliance", `${LINE}}`.replace("A1", String.raw`A\u0031`), null],
  ["without an appliance", `${LINE}}`.replace("A1", ""), null],
  ["cut off in the appliance", LINE.slice(0, -1), null],
  ["cut off before it", LINE.slice(0, 40), null],
  ["empty", "", null],
])("a line that is %s has the appliance that its parsed form has, or is parsed", (_, line, id) => {
  expect(find(line)?.appliance ?? null).toBe(id);
});
