// Orders and answers whose command is killed between two of its changes to the disk.
import { beforeEach, describe, expect, test } from "bun:test";
import { cpSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { answerAt, answerDocuments } from "../../../src/desk/answering/answer-documents.ts";
import { Desk } from "../../../src/desk/desk.ts";
import { loadDeskRecords } from "../../../src/desk/desk-records.ts";
import { addOrders, USUAL_SIZE } from "../../../src/desk/orders/orders.ts";
import { verifyDesk } from "../../../src/desk/verify-desk.ts";
import { wallClock } from "../../../src/platform/clock.ts";
import { realDisk, type Disk } from "../../../src/platform/files/disk.ts";
import { interruptEverywhere } from "../../support/interrupted-disk.ts";
import { makeSignedRequest } from "../../support/signed-request.ts";
import { tempFolder } from "../../support/temp-folder.ts";

const CUSTOMERS = Array.from({ length: 20 }, (_, index) => `Customer ${index}`);

let original = "";
let request = "";

const orderFor = (customer: string) => ({
  ...USUAL_SIZE,
  customer,
  licenseKey: null,
  terms: { product: "CAD", valid_until: null },
});

beforeEach(async () => {
  original = join(tempFolder(), "desk");
  const vendor = { name: "Acme", products: ["CAD"], passphrase: null };
  const desk = await Desk.create(realDisk, original, vendor);
  const [order] = await addOrders(desk, [orderFor("Initech")], wallClock());
  request = await makeSignedRequest("CAD", order?.license_key ?? "");
});

const copyDesk = async (): Promise<string> => {
  const folder = join(tempFolder(), "desk");
  cpSync(original, folder, { recursive: true });
  return folder;
};

async function answer(disk: Disk, folder: string) {
  const desk = await Desk.open(disk, folder, null);
  const [answered] = await answerDocuments(answerAt(desk, desk, wallClock()), [
    { name: "request", text: request },
  ]);
  if (answered === undefined) throw new Error("nothing was answered");
  return answered;
}

const expectIntact = async (folder: string): Promise<void> =>
  expect((await verifyDesk(realDisk, folder, null)).faults).toEqual([]);

describe("a desk that is interrupted at any of its writes", () => {
  test("has the license on its ledger before it is output, and gives the same one again", async () => {
    let output: string | null = null;
    const tries = await interruptEverywhere(
      copyDesk,
      async (disk, folder) => {
        output = null;
        ({ document: output } = await answer(disk, folder));
      },
      async (folder) => {
        const { ledger } = await loadDeskRecords(realDisk, folder);
        const issued = ledger.issuedEntries();
        if (output !== null) expect(issued.map(({ document }) => document)).toEqual([output]);
        const again = await answer(realDisk, folder);
        expect(again.outcome).toBe(issued.length === 0 ? "answered" : "repeated");
        expect(again.document).toBe(issued[0]?.document ?? again.document);
        await expectIntact(folder);
      },
    );
    expect(tries).toBeGreaterThan(3);
  });

  test("has all imported orders with their customers, or none", async () => {
    const tries = await interruptEverywhere(
      copyDesk,
      async (disk, folder) =>
        addOrders(await loadDeskRecords(disk, folder), CUSTOMERS.map(orderFor), wallClock()),
      async (folder, isFinished) => {
        const { orders } = (await loadDeskRecords(realDisk, folder)).ledger;
        const counts = [orders.orders().length, orders.customers().length];
        const all = [CUSTOMERS.length + 1, CUSTOMERS.length + 1];
        if (isFinished) expect(counts).toEqual(all);
        else expect([[1, 1], all]).toContainEqual(counts);
        await expectIntact(folder);
      },
    );
    expect(tries).toBeGreaterThan(3);
  });

  test("counts no part of an append of several lines, wherever a power failure cut it", async () => {
    const records = await loadDeskRecords(realDisk, original);
    const ledger = join(original, "ledger.jsonl");
    const before = readFileSync(ledger, "utf8");
    await addOrders(records, CUSTOMERS.slice(0, 3).map(orderFor), wallClock());
    const after = readFileSync(ledger, "utf8");
    const ends = [...after.matchAll(/\n/g)].map(({ index }) => index + 1);
    const cuts = ends.filter((end) => end > before.length && end < after.length);
    expect(cuts).toHaveLength(5);
    for (const cut of [...cuts, ...cuts.map((end) => end - 10)]) {
      const folder = await copyDesk();
      writeFileSync(join(folder, "ledger.jsonl"), after.slice(0, cut));
      rmSync(join(folder, "ledger.head"));
      expect((await verifyDesk(realDisk, folder, null)).faults).toHaveLength(1);
      const reopened = await loadDeskRecords(realDisk, folder);
      expect(reopened.ledger.orders.orders()).toHaveLength(1);
      expect(readFileSync(join(folder, "ledger.jsonl"), "utf8")).toBe(before);
      await expectIntact(folder);
    }
  });
});
