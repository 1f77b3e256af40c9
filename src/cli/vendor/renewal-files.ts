import { accessSync, constants, lstatSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Obstacle } from "../../desk/desk-refused.ts";
import type { Renewed } from "../../desk/answering/renew-from-ledger.ts";
import type { IssuedEntry } from "../../desk/ledger/ledger-entries.ts";
import { messageOfError } from "../../platform/error-message.ts";
import { realDisk } from "../../platform/files/disk.ts";
import { errorCode } from "../../platform/files/system-error.ts";
import { Failure } from "../frame/command.ts";
import { checkOutputPath } from "../files/output-document.ts";
import { writeOutputText } from "../files/output-file.ts";
import { Misuse } from "../frame/options.ts";
import { StatusLine } from "../frame/terminal.ts";

/** A renewal that was signed without a request, and its file. */
export interface RenewedFile {
  readonly license_id: number;
  readonly serial: number;
  readonly license_key: string | null;
  readonly appliance: string;
  readonly outcome: "renewed" | "repeated" | "decide";
  /** Null: it was not written. */
  readonly file: string | null;
  readonly obstacles: readonly Obstacle[];
}

/** Called before anything is signed. */
export function checkOutFolder(folder: string): void {
  if (realDisk.stat(folder) === null) realDisk.makeFolder(folder);
  if (!statSync(folder).isDirectory())
    throw new Failure(`${folder} is not a folder`, "choose another --out-dir");
  accessSync(folder, constants.W_OK);
}

/** Renews licenses one by one, and writes each document as LICENSEID.license.jwt. */
export async function writeRenewals(
  folder: string,
  licenses: readonly IssuedEntry[],
  renew: (license: IssuedEntry) => Promise<Renewed>,
): Promise<RenewedFile[]> {
  const progress = new ProgressLine("renewals", licenses.length);
  const files: RenewedFile[] = [];
  for (const license of licenses) {
    const renewed = await renew(license);
    files.push(await writeRenewal(join(folder, `${license.license_id}.license.jwt`), renewed));
    progress.show(files.length);
  }
  progress.clear();
  return files;
}

async function writeRenewal(path: string, renewed: Renewed): Promise<RenewedFile> {
  if (renewed.obstacles.length > 0) return describeRenewed(renewed, null);
  const { license_id, document } = renewed.license;
  const text = await writeDocument(path, document);
  if (text === null) return describeRenewed(renewed, path);
  const hint = `berth vendor issue --reprint ${license_id} --out FILE writes the license`;
  return describeRenewed({ ...renewed, obstacles: [{ code: "file_exists", text, hint }] }, null);
}

/** The same without a signature and a file. */
export const planRenewals = (
  licenses: readonly IssuedEntry[],
  rehearse: (license: IssuedEntry) => Renewed,
): RenewedFile[] => licenses.map((license) => describeRenewed(rehearse(license), null));

const describeRenewed = (
  { license: newest, isNew, obstacles }: Renewed,
  file: string | null,
): RenewedFile => ({
  license_id: newest.license_id,
  serial: newest.serial,
  license_key: newest.terms.license_key,
  appliance: newest.appliance,
  outcome: obstacles.length > 0 ? "decide" : isNew ? "renewed" : "repeated",
  file,
  obstacles,
});

/**
 * Replaces an earlier document of its kind, and nothing else; leaves an equal one alone. Returns
 * why it was not written; null: it is there.
 */
export async function writeDocument(
  path: string,
  document: string,
  kind: "license" | "ack" = "license",
): Promise<string | null> {
  const entry = lstatSync(path, { throwIfNoEntry: false });
  if (entry !== undefined && !entry.isFile()) return `${path} exists and is not a regular file`;
  try {
    const bytes = realDisk.read(path);
    if (bytes !== null && new TextDecoder().decode(bytes).trim() === document) return null;
    checkOutputPath({ out: path, json: false }, kind);
    await writeOutputText(path, `${document}\n`);
    return null;
  } catch (error) {
    // The others of a batch do not wait for this one.
    const isKnown = error instanceof Misuse || error instanceof Failure;
    if (!isKnown && errorCode(error) === null) throw error;
    return isKnown ? error.message : `${path}: ${messageOfError(error)}`;
  }
}

/** Shows on a terminal how many of many are done; nothing elsewhere. */
export class ProgressLine {
  readonly #line = new StatusLine();
  readonly #what: string;
  readonly #count: number;
  #shownAt = performance.now();

  constructor(what: string, count: number) {
    this.#what = what;
    this.#count = count;
  }

  show(done: number): void {
    if (!this.#line.isOnTerminal || performance.now() - this.#shownAt < PAUSE_MS) return;
    this.#shownAt = performance.now();
    this.#line.show(`${this.#what}: ${done} of ${this.#count}`);
  }

  clear(): void {
    this.#line.clear();
  }
}

const PAUSE_MS = 200;
