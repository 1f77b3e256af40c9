// A desk of many licenses and usage statements. Its lines are copies of real ones with other ids, so
// the chain of the ledger and the positions of the statements are right, and the signatures are not.
import { appendFileSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { Desk } from "../../src/desk/desk.ts";
import { HEAD_FILE, LEDGER_FILE } from "../../src/desk/ledger/ledger-lines.ts";
import { STATEMENTS_FILE } from "../../src/desk/ledger/statement-file.ts";
import { sha256 } from "../../src/platform/crypto/hash.ts";
import { realDisk } from "../../src/platform/files/disk.ts";
import { openAppliance } from "../support/appliance.ts";
import { unwrap } from "../support/licensed-store.ts";
import { atEnd } from "../support/suite-harness.ts";
import { makeBenchFolder } from "./servers.ts";
import { goTo, installLicense, makeStatement, receive } from "../support/reporting-site.ts";

export interface DeskSize {
  readonly licenses: number;
  readonly customers: number;
  readonly statementsPerAppliance: number;
  /** Usage statements of each are monthly. */
  readonly appliances: number;
}

export interface LargeDesk {
  readonly folder: string;
  readonly appliances: readonly string[];
  readonly lines: number;
  readonly bytes: { readonly ledger: number; readonly statements: number };
}

type Line = Record<string, unknown>;

const CHUNK_LINES = 5_000;

export async function makeLargeDesk(size: DeskSize): Promise<LargeDesk> {
  const folder = join(makeBenchFolder(), "desk");
  const newDesk = { name: "Bench", products: ["sim"], passphrase: null };
  const desk = await Desk.create(realDisk, folder, newDesk);
  const site = await openAppliance({ licenses: {} }, atEnd);
  unwrap(await site.vendorTrust.trustVendor(desk.trust.document, "bench"));
  await installLicense({ desk, site, folder }, "sim", { slots: 3 });
  goTo(site, 30);
  const { document } = await makeStatement(site);
  await receive(desk, document);
  const path = join(folder, LEDGER_FILE);
  const lines = readFileSync(path, "utf8").trimEnd().split("\n");
  const parsed = lines.map((line) => JSON.parse(line) as Line);
  const template = (type: string): Line => {
    const { prev: _prev, ...line } = parsed.find((other) => other["type"] === type) ?? {};
    return line;
  };
  const [seen, issued, statement] = [template("seen"), template("issued"), template("statement")];
  const appliances = Array.from({ length: size.appliances }, (_, n) => idOf(n));
  const writer = new LedgerWriter(folder, lines);
  for (let n = 0; n < size.licenses; n += 1) {
    const appliance = appliances[n % appliances.length];
    const terms = {
      ...(issued["terms"] as Line),
      customer: `Customer ${n % size.customers}`,
      license_key: `ORDER-${n}`,
    };
    writer.add({ ...seen, appliance, request_id: sha256(`${n}`).slice(0, 32) });
    writer.add({ ...issued, license_id: 1_000_000 + n, appliance, terms });
  }
  const stored = readFileSync(join(folder, STATEMENTS_FILE), "utf8");
  const { length, sum } = statement["stored"] as { readonly length: number; readonly sum: string };
  for (let month = 1; month <= size.statementsPerAppliance; month += 1) {
    for (const appliance of appliances) {
      const digest = sha256(`${appliance} ${month}`);
      const from = writer.addStatement(stored);
      writer.add({ ...statement, appliance, n: month, digest, stored: { from, length, sum } });
    }
  }
  return { folder, appliances, ...writer.finish() };
}

const idOf = (n: number): string => n.toString(32).toUpperCase().padStart(16, "0");

class LedgerWriter {
  readonly #ledger: string;
  readonly #statements: string;
  readonly #head: string;
  #lines: number;
  #sum: string;
  #bytes: { ledger: number; statements: number };
  #newLines: string[] = [];
  #newStatements: string[] = [];

  constructor(folder: string, lines: readonly string[]) {
    this.#ledger = join(folder, LEDGER_FILE);
    this.#statements = join(folder, STATEMENTS_FILE);
    this.#head = join(folder, HEAD_FILE);
    this.#lines = lines.length;
    this.#sum = sha256(lines.at(-1) ?? "");
    const sizeOf = (path: string): number => readFileSync(path).length;
    this.#bytes = { ledger: sizeOf(this.#ledger), statements: sizeOf(this.#statements) };
  }

  add(entry: Line): void {
    const line = JSON.stringify({ ...entry, prev: this.#sum });
    this.#sum = sha256(line);
    this.#lines += 1;
    this.#bytes.ledger += Buffer.byteLength(line) + 1;
    this.#newLines.push(`${line}\n`);
    if (this.#newLines.length >= CHUNK_LINES) this.#flush();
  }

  /** Returns its offset. */
  addStatement(line: string): number {
    const from = this.#bytes.statements;
    this.#bytes.statements += line.length;
    this.#newStatements.push(line);
    return from;
  }

  finish(): Pick<LargeDesk, "lines" | "bytes"> {
    this.#flush();
    const head = { lines: this.#lines, sum: this.#sum, size: this.#bytes.ledger };
    writeFileSync(this.#head, `${JSON.stringify(head)}\n`);
    return { lines: this.#lines, bytes: this.#bytes };
  }

  #flush(): void {
    appendFileSync(this.#statements, this.#newStatements.join(""));
    appendFileSync(this.#ledger, this.#newLines.join(""));
    [this.#newLines, this.#newStatements] = [[], []];
  }
}
