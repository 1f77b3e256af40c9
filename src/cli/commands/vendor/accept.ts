import { Desk } from "../../../desk/desk.ts";
import { DeskRefused } from "../../../desk/desk-refused.ts";
import { readTrustDocument } from "../../../desk/trust-document.ts";
import { readDocumentHeader, readUnverifiedPayload } from "../../../license/documents/document.ts";
import { realDisk } from "../../../platform/files/disk.ts";
import { readDocument } from "../../files/input-document.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { Misuse } from "../../frame/options.ts";
import { printNote } from "../../frame/terminal.ts";
import { openDeskRecords } from "../../vendor/open-desk.ts";

interface SignedFile {
  readonly file: string;
  readonly text: string;
  readonly isTrust: boolean;
  /** Of a trust document its version, of a certificate its time. */
  readonly order: number;
}

/** What the root signed: its newest trust document, and certificates of the desk's keys. */
export const acceptCommand = defineCommand({
  name: "vendor accept",
  summary: "take what the root signed on another machine: a trust document, a certificate",
  options: { dir: option.deskFolder, json: option.json },
  arguments: ["FILE…"],
  examples: ["berth vendor accept trust.jwt key.cert --dir desk"],
  async run({ dir }, { allArgs: files }) {
    if (files.length === 0) throw new Misuse("FILE is required", "berth vendor accept trust.jwt");
    const signed = files.map(readSigned).toSorted(inOrder);
    // A fault of the desk is reported without the name of a file.
    await openDeskRecords(dir);
    const accepted: Accepted[] = [];
    for (const { file, text, isTrust } of signed) {
      try {
        const is_new = isTrust
          ? await Desk.acceptTrust(realDisk, dir, await readTrustDocument(text, file))
          : await Desk.acceptCertificate(realDisk, dir, text);
        accepted.push({ file, is_new });
      } catch (error) {
        // The files before this one are accepted.
        for (const done of accepted) printNote(describe(done));
        if (!(error instanceof DeskRefused)) throw error;
        throw new DeskRefused(`${file} is not accepted: ${error.message}`, error.hint);
      }
    }
    return { json: { accepted }, text: accepted.map(describe) };
  },
});

function readSigned(file: string): SignedFile {
  const text = readDocument(file, ["trust", "key"]);
  const header = readDocumentHeader(text);
  const isTrust = header.ok && header.value.kind === "trust";
  const { version, iat } = (readUnverifiedPayload(text) ?? {}) as Record<string, unknown>;
  const order = isTrust ? version : iat;
  return { file, text, isTrust, order: typeof order === "number" ? order : 0 };
}

/** A certificate may need the newer trust document, and the newest key is to be the current one. */
const inOrder = (a: SignedFile, b: SignedFile): number =>
  Number(b.isTrust) - Number(a.isTrust) || a.order - b.order;

interface Accepted {
  readonly file: string;
  readonly is_new: boolean;
}

const describe = ({ file, is_new }: Accepted): string =>
  is_new ? `${file} is accepted` : `${file} is already known`;
