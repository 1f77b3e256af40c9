// Measures a vendor's desk of 10,000 licenses: how long it takes to open, and to look something up.
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadDeskRecords } from "../../src/desk/desk-records.ts";
import { HEAD_FILE } from "../../src/desk/ledger/ledger-lines.ts";
import type { Ledger } from "../../src/desk/ledger/ledger.ts";
import { findStatementChain } from "../../src/desk/statements/statement-continuity.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { buildBinary } from "../support/binary.ts";
import type { BenchSize, PartResult } from "./bench-part.ts";
import { atMost, formatNumber, median, type Figure } from "./goals.ts";
import { makeLargeDesk, type LargeDesk } from "./large-desk.ts";

const LICENSES = 10_000;
const CUSTOMERS = 2_000;
const APPLIANCES = 2_000;
/** Three years of monthly statements are the usual size. */
const MONTHS = 36;

export async function measureDesk({ starts, deskStatements }: BenchSize): Promise<PartResult> {
  const figures: Figure[] = [];
  const texts: string[] = [];
  for (const count of deskStatements) {
    const statementsPerAppliance = count / APPLIANCES;
    const desk = await makeLargeDesk({
      licenses: LICENSES,
      customers: CUSTOMERS,
      appliances: APPLIANCES,
      statementsPerAppliance,
    });
    const isGoal = statementsPerAppliance === MONTHS;
    const { opening, command, memory, lookUps } = await measureOne(desk, Math.min(starts, 5));
    const what = `a desk of ${formatNumber(count)} statements`;
    const [openGoal, lookUpGoal] = isGoal ? [atMost(2_000), atMost(5)] : [null, null];
    figures.push(
      { what: `opening of ${what}`, value: opening, unit: "ms", goal: openGoal },
      { what: `berth vendor show of ${what}`, value: command, unit: "ms", goal: openGoal },
      {
        what: `longest look-up in ${what}`,
        value: Math.max(...lookUps.values()),
        unit: "ms",
        goal: lookUpGoal,
      },
    );
    const mebibytes = (bytes: number): string => `${formatNumber(bytes / 1024 / 1024)} MiB`;
    texts.push(
      `${what}: ${formatNumber(desk.lines)} lines, ledger ${mebibytes(desk.bytes.ledger)}, ` +
        `statements ${mebibytes(desk.bytes.statements)}, memory of the command ${mebibytes(memory)}`,
      `  opened without ledger.head, so that all is checked: ${formatNumber(await openUnchecked(desk))} ms`,
      ...[...lookUps].map(([name, ms]) => `  longest look-up of ${name}: ${formatNumber(ms)} ms`),
    );
    rmSync(desk.folder, { recursive: true });
  }
  return { figures, text: texts.join("\n"), wrong: [] };
}

async function measureOne({ folder, appliances }: LargeDesk, rounds: number) {
  const openings: number[] = [];
  const commands: number[] = [];
  let memory = 0;
  let lookUps = new Map<string, number>();
  for (let round = 0; round < rounds; round += 1) {
    Bun.gc(true);
    const started = performance.now();
    const { ledger } = await loadDeskRecords(realDisk, folder);
    openings.push(performance.now() - started);
    lookUps = measureLookUps(ledger, appliances);
    const begun = performance.now();
    const child = Bun.spawn([buildBinary(), "vendor", "show", "--dir", folder], {
      stdout: "ignore",
    });
    if ((await child.exited) !== 0) throw new Error("berth vendor show failed");
    commands.push(performance.now() - begun);
    memory = Math.max(memory, child.resourceUsage()?.maxRSS ?? 0);
  }
  return { opening: median(openings), command: median(commands), memory, lookUps };
}

/** The longest of each kind; those of statements read lines from the disk. */
function measureLookUps(ledger: Ledger, appliances: readonly string[]): Map<string, number> {
  const longest = new Map<string, number>();
  const measure = (name: string, work: () => unknown): void => {
    const started = performance.now();
    work();
    longest.set(name, Math.max(longest.get(name) ?? 0, performance.now() - started));
  };
  for (const appliance of appliances.filter((_, n) => n % 10 === 0)) {
    measure("the statements of an appliance", () => findStatementChain(ledger, appliance));
    measure("the licenses of an appliance", () => ledger.issuedTo(appliance));
    measure("the requests of an appliance", () => ledger.seenEntries(appliance));
    const [license] = ledger.issuedTo(appliance);
    const { license_id: id = 0, terms } = license ?? {};
    measure("a license by its id", () => ledger.issuedAs(id));
    measure("a license by its key", () => ledger.issuedUnder(terms?.license_key ?? ""));
    measure("a receipt", () => license && ledger.findReceipt(license));
  }
  return longest;
}

async function openUnchecked({ folder }: LargeDesk): Promise<number> {
  writeFileSync(join(folder, HEAD_FILE), "");
  const started = performance.now();
  await loadDeskRecords(realDisk, folder);
  return performance.now() - started;
}
