// The documents of usage statements are in a file beside the ledger, which names their position.
import { describe, expect, test } from "bun:test";
import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Desk } from "../../../src/desk/desk.ts";
import { listUsage } from "../../../src/desk/statements/usage-list.ts";
import { verifyDesk } from "../../../src/desk/verify-desk.ts";
import { sha256 } from "../../../src/platform/crypto/hash.ts";
import { realDisk } from "../../../src/platform/files/disk.ts";
import { refusal } from "../../support/desk-refusal.ts";
import { interruptEverywhere } from "../../support/interrupted-disk.ts";
import { goTo, makeStatement, openReportingSite, receive } from "../../support/reporting-site.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const NO_FILTER = { product: null, customer: null, appliance: null };

const pathOf = (folder: string): string => join(folder, "statements.jsonl");
const textOf = (folder: string): string => readFileSync(pathOf(folder), "utf8");
const ledgerLines = (folder: string): string[] =>
  readFileSync(join(folder, "ledger.jsonl"), "utf8").split("\n").slice(0, -1);

/** A desk that received the first of two statements. */
async function openWithStatements() {
  const { desk, site, folder } = await openReportingSite();
  goTo(site, 3);
  const { document: first } = await makeStatement(site);
  await receive(desk, first);
  goTo(site, 5);
  const { document: second } = await makeStatement(site);
  return { desk, folder, first, second };
}

/** The faults of lines of the ledger. */
async function faultsOf(folder: string): Promise<string[]> {
  const { faults } = await verifyDesk(realDisk, folder, null);
  return faults.map(({ location, problem }) => `${location}: ${problem}`);
}

describe("statements.jsonl", () => {
  test("holds document and answer of each statement, and the ledger its position and hash", async () => {
    const { desk, folder, first, second } = await openWithStatements();
    const { stored, acknowledgement, appliance } = await receive(desk, second);
    const lines = textOf(folder).split("\n");
    expect(lines.slice(0, -1).map((line) => JSON.parse(line) as unknown)).toEqual([
      { document: first, acknowledgement: expect.any(String) as string },
      { document: second, acknowledgement },
    ]);
    const [from, length] = [(lines[0] ?? "").length + 1, (lines[1] ?? "").length];
    expect(stored).toEqual({ from, length, sum: sha256(lines[1] ?? "") });
    expect(ledgerLines(folder).join("")).not.toContain(second);
    const { ledger } = await Desk.open(realDisk, folder, null);
    expect(ledger.statementsOf(appliance).map((entry) => ledger.readStatement(entry))).toEqual(
      desk.ledger.statementsOf(appliance).map((entry) => desk.ledger.readStatement(entry)),
    );
    expect(await faultsOf(folder)).toEqual([]);
  });

  test.each<[what: string, change: (folder: string) => void, problem: string]>([
    ["missing", (folder) => rmSync(pathOf(folder)), "is missing in statements.jsonl"],
    [
      "cut off in its line",
      (folder) => writeFileSync(pathOf(folder), textOf(folder).slice(0, 50)),
      "is missing in statements.jsonl",
    ],
    [
      "changed",
      (folder) => writeFileSync(pathOf(folder), textOf(folder).replace("e", "f")),
      "is damaged in statements.jsonl",
    ],
  ])(
    "that is %s is named by verify, and to commands that read it",
    async (_what, change, problem) => {
      const { folder, first, second } = await openWithStatements();
      const line = ledgerLines(folder).length;
      change(folder);
      expect(await faultsOf(folder)).toEqual([
        `ledger.jsonl line ${line}: its statement ${problem}`,
      ]);
      const opened = await Desk.open(realDisk, folder, null);
      expect(await refusal(receive(opened, first))).toContain(`statement 1 of appliance`);
      expect(await refusal(listUsage(opened.ledger, NO_FILTER))).toContain(problem);
      // What the ledger has is enough to judge the next one, but it is stored only if none is lost.
      if (problem.includes("damaged")) expect((await receive(opened, second)).n).toBe(2);
      else expect(await refusal(receive(opened, second))).toMatch(/is missing|has only 50 of its/);
    },
  );

  test("that a person emptied takes further statements, and verify names the lost one", async () => {
    const { desk, folder, second } = await openWithStatements();
    const line = ledgerLines(folder).length;
    writeFileSync(pathOf(folder), "");
    expect((await receive(desk, second)).stored.from).toBe(0);
    const { ledger } = await Desk.open(realDisk, folder, null);
    const [, last] = ledger.statementsOf(ledger.statementSenders()[0] ?? "");
    expect(last && ledger.readStatement(last).document).toBe(second);
    expect(await faultsOf(folder)).toEqual([
      expect.stringContaining(`ledger.jsonl line ${line}: its statement is`),
    ]);
  });

  test("that ends in an interrupted write is cut before the next statement, and the rest is kept", async () => {
    const { desk, folder, second } = await openWithStatements();
    const before = textOf(folder);
    appendFileSync(pathOf(folder), '{"docu');
    expect((await verifyDesk(realDisk, folder, null)).notes).toEqual([
      "statements.jsonl ends in an interrupted write of 6 bytes; the next statement moves it to another file",
    ]);
    const { stored } = await receive(desk, second);
    expect([stored.from, textOf(folder).startsWith(`${before}{"document"`)]).toEqual([
      before.length,
      true,
    ]);
    expect(readFileSync(`${pathOf(folder)}.${before.length}.torn`, "utf8")).toBe('{"docu');
    const { faults, notes } = await verifyDesk(realDisk, folder, null);
    expect([faults, notes]).toEqual([[], []]);
  });
});

describe("a statement's line of the ledger", () => {
  test.each<[what: string, change: (line: string) => string, isRead: boolean]>([
    ["changed", (line) => line.replace('"n":1', '"n":7'), true],
    ["no JSON any more", (line) => line.replace('"n":1,', '"n":,1'), false],
  ])(
    "that is %s before ledger.head is found by verify, not when the desk is opened",
    async (_what, change, isRead) => {
      const { desk, folder, second } = await openWithStatements();
      const number = ledgerLines(folder).length;
      await receive(desk, second);
      const lines = ledgerLines(folder);
      const changed = change(lines[number - 1] ?? "");
      expect(changed).not.toBe(lines[number - 1]);
      const text = lines.with(number - 1, changed).join("\n");
      writeFileSync(join(folder, "ledger.jsonl"), `${text}\n`);
      const { ledger } = await Desk.open(realDisk, folder, null);
      const [appliance = ""] = ledger.statementSenders();
      if (isRead) expect(ledger.statementsOf(appliance).map(({ n }) => n)).toEqual([7, 2]);
      else expect(() => ledger.statementsOf(appliance)).toThrow("ledger.jsonl is damaged at byte");
      const faults = await faultsOf(folder);
      expect(faults).toContain(`ledger.jsonl line ${number + 1}: does not continue the ledger`);
      expect(faults.join("\n")).toContain(`ledger.jsonl line ${number}: `);
      rmSync(join(folder, "ledger.head"));
      expect(Desk.open(realDisk, folder, null)).rejects.toThrow(
        isRead ? `at line ${number + 1}` : `is damaged at line ${number}`,
      );
    },
  );
});

test.each([
  ["a statement", 0],
  ["a statement after an interrupted one", 1],
])(
  "berth vendor receive: %s is recorded as a whole or not at all, and can be sent again",
  async (_what, torn) => {
    const { folder: original, second, first } = await openWithStatements();
    if (torn > 0) appendFileSync(pathOf(original), '{"docu');
    const attempts = await interruptEverywhere(
      () => {
        const folder = join(tempFolder(), "desk");
        cpSync(original, folder, { recursive: true });
        return Promise.resolve(folder);
      },
      async (disk, folder) => receive(await Desk.open(disk, folder, null), second),
      async (folder, isFinished) => {
        const opened = await Desk.open(realDisk, folder, null);
        const [appliance = ""] = opened.ledger.statementSenders();
        const count = opened.ledger.statementsOf(appliance).length;
        expect(isFinished ? [2] : [1, 2]).toContain(count);
        expect(await faultsOf(folder)).toEqual([]);
        const entry = await receive(opened, second);
        expect([entry.n, textOf(folder).split("\n").length]).toEqual([2, 3]);
        expect((await receive(opened, first)).document).toBe(first);
        const { faults, notes } = await verifyDesk(realDisk, folder, null);
        expect([faults, notes]).toEqual([[], []]);
      },
    );
    expect(attempts).toBeGreaterThan(torn > 0 ? 9 : 5);
  },
);
