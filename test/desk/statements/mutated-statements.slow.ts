// 10,000 random changes of a signed statement: the desk accepts none and writes nothing.
import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DeskRefused } from "../../../src/desk/desk-refused.ts";
import { mutateDocument } from "../../support/mutate-document.ts";
import { goTo, makeStatement, openReportingSite, receive } from "../../support/reporting-site.ts";
import { createRandom } from "../../support/suite-harness.ts";

const MUTATIONS = 10_000;

test("the desk refuses each of 10,000 mutated statements and then takes the genuine one", async () => {
  const { site, desk, folder } = await openReportingSite();
  for (const user of ["ada", "bob"]) await site.register({ user, product: "sim" });
  goTo(site, 3);
  const { document } = await makeStatement(site);
  const random = createRandom(19);
  const readLedger = (): string => readFileSync(join(folder, "ledger.jsonl"), "utf8");
  const before = readLedger();
  const outcomes = { refused: 0, accepted: [] as string[], failed: [] as string[] };
  for (let tried = 0; tried < MUTATIONS;) {
    const mutated = mutateDocument(document, random);
    if (mutated === document) continue;
    tried += 1;
    try {
      await receive(desk, mutated);
      outcomes.accepted.push(mutated);
    } catch (error) {
      if (error instanceof DeskRefused) outcomes.refused += 1;
      else outcomes.failed.push(`${String(error)}: ${mutated}`);
    }
  }
  expect(outcomes).toEqual({ refused: MUTATIONS, accepted: [], failed: [] });
  expect(readLedger()).toBe(before);
  expect((await receive(desk, document)).n).toBe(1);
});
