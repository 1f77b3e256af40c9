import { CODE_BITS, decodeCode, describeCodeFault } from "../../../license/codes/code.ts";
import { decodeTimeCode, signTimeDocument } from "../../../license/documents/time-document.ts";
import { wallClock } from "../../../platform/clock.ts";
import type { DeskRecords } from "../../../desk/desk-records.ts";
import { inspectDocument, type DocumentInspection } from "../../../desk/inspect-document.ts";
import { findSplits } from "../../../desk/issuing/pair-continuity.ts";
import { verifyLicenseRequest, describeUncheckedWants } from "../../../license/requests/request.ts";
import { describeUncheckedPair } from "../../../license/requests/pair-request.ts";
import { EXIT_OK, EXIT_FAILURE, Failure, type Command } from "../../frame/command.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { escapeToOneLine } from "../../frame/terminal.ts";
import { checkOutputPath, outputDocument } from "../../files/output-document.ts";
import { readDocument } from "../../files/input-document.ts";
import { deskOptions, openDesk, openDeskRecords } from "../../vendor/open-desk.ts";

const time = defineCommand({
  name: "vendor time",
  summary: "answer a site's clock code with a signed time document",
  options: { ...deskOptions, code: option.clockCode, out: option.out, json: option.json },
  async run({ code, out, json, ...options }) {
    const timeCode = decodeTimeCode(code ?? "");
    if (timeCode === null) {
      const decoded = decodeCode(code ?? "", CODE_BITS.time);
      const problem = decoded.ok ? "" : `: ${describeCodeFault(decoded.fault)}`;
      throw new Failure(`CODE is not a clock code${problem}`, "berth clock prints one at the site");
    }
    checkOutputPath({ out, json }, "time");
    const { vendor, issuing } = await openDesk(options);
    const iat = Math.floor(wallClock() / 1_000);
    const document = await signTimeDocument({ iss: vendor.vendor, iat, ...timeCode }, issuing);
    return {
      json: { time: document },
      text: () => outputDocument({ out, qr: false }, document, "the time"),
    };
  },
});

const inspectCommand = defineCommand({
  name: "vendor inspect",
  summary: "show the contents of a Berth document and verify its signature; needs no passphrase",
  options: { dir: option.anyDeskFolder, json: option.json },
  arguments: ["FILE"],
  async run({ dir }, { args: [file] }) {
    const document = readDocument(file, null);
    const records = dir === null ? null : await openDeskRecords(dir);
    const inspection = await inspectDocument(document, records);
    const { kind, verdict, fingerprint, payload, certificate, verified } = inspection;
    const isRequest = kind === "request";
    const wants = isRequest ? describeUncheckedWants(payload) : null;
    const pair = isRequest ? describeUncheckedPair(payload) : null;
    const splits = await findSplitsIn(document, inspection, records);
    return {
      json: { ...inspection, ...(splits !== null && { splits }) },
      warnings: splits ?? [],
      text: [
        `${kind}: ${verdict}`,
        ...(fingerprint === null ? [] : [`fingerprint ${fingerprint}`]),
        ...(wants === null ? [] : [escapeToOneLine(wants)]),
        ...(pair === null ? [] : [escapeToOneLine(pair)]),
        JSON.stringify(payload, null, 2),
        ...(certificate === null
          ? []
          : [`\ncertificate of the key\n${JSON.stringify(certificate, null, 2)}`]),
      ],
      exitCode: verified ? EXIT_OK : EXIT_FAILURE,
    };
  },
});

/** What shows that the pair of a request was split; null: it is no valid request, or no desk. */
async function findSplitsIn(
  document: string,
  { kind, verified }: DocumentInspection,
  desk: DeskRecords | null,
): Promise<string[] | null> {
  if (kind !== "request" || !verified || desk === null) return null;
  const request = await verifyLicenseRequest(document);
  return request.ok ? findSplits(desk, request.value) : null;
}

/** Commands for the documents of a site. */
export const documentCommands: readonly Command[] = [time, inspectCommand];
