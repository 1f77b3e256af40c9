import { readDocumentHeader } from "../../../license/documents/document.ts";
import { wallClock } from "../../../platform/clock.ts";
import { receiveReceipt } from "../../../desk/issuing/receive-receipt.ts";
import { checkStatement, recordStatement } from "../../../desk/statements/receive-statement.ts";
import { Misuse } from "../../frame/options.ts";
import { defineCommand } from "../../frame/define-command.ts";
import { option } from "../../frame/flags.ts";
import { escapeToOneLine } from "../../frame/terminal.ts";
import type { JsonOutcome } from "../../frame/outcome.ts";
import { checkOutputPath, outputDocument } from "../../files/output-document.ts";
import { readDocument } from "../../files/input-document.ts";
import { deskOptions, openDesk, openDeskRecords } from "../../vendor/open-desk.ts";

interface ReceiveFlags {
  readonly dir: string;
  readonly passphraseFile: string | null;
  readonly acceptFork: string | null;
  readonly out: string | null;
  readonly json: boolean;
}

export const receiveCommand = defineCommand({
  name: "vendor receive",
  summary: "record a site's receipt for a returned license, or its usage statement",
  options: {
    ...deskOptions,
    acceptFork: option.acceptFork,
    out: option.out,
    json: option.json,
  },
  arguments: ["FILE"],
  examples: [
    "berth vendor receive receipt.jwt --dir desk",
    "berth vendor receive statement.jwt --dir desk --out ack.jwt",
  ],
  async run(options, { args: [file] }) {
    const document = readDocument(file, ["receipt", "usage"]);
    const header = readDocumentHeader(document);
    return header.ok && header.value.kind === "usage"
      ? receiveStatement(document, options)
      : receive(document, options);
  },
});

async function receive(
  document: string,
  { dir, acceptFork, out }: ReceiveFlags,
): Promise<JsonOutcome> {
  if (out !== null || acceptFork !== null) {
    throw new Misuse(
      "a receipt has no answer: --out and --accept-fork are for usage statements",
      "omit them",
    );
  }
  const { receipt } = await receiveReceipt(await openDeskRecords(dir), document, wallClock());
  const { license_id, serial } = receipt;
  return {
    json: receipt,
    text: `license ${license_id}, serial ${serial}, is recorded as returned`,
  };
}

async function receiveStatement(document: string, flags: ReceiveFlags): Promise<JsonOutcome> {
  const { acceptFork: acceptForkReason, out } = flags;
  checkOutputPath(flags, "ack");
  if (acceptForkReason !== null && acceptForkReason.trim() === "") {
    throw new Misuse("--accept-fork needs a reason", '--accept-fork "the disk was replaced"');
  }
  const options = { acceptForkReason, now: wallClock() };
  const records = await openDeskRecords(flags.dir);
  const checked = await checkStatement(records, document, options);
  const entry =
    checked.recorded ?? (await recordStatement(await openDesk(flags), document, options));
  const { appliance, n, from, to, digest, acknowledgement } = entry;
  const isNew = checked.recorded === null;
  const { warnings } = checked;
  return {
    json: { appliance, number: n, from, to, digest, is_new: isNew, warnings, acknowledgement },
    warnings: [...checked.contradictions, ...warnings].map(escapeToOneLine),
    notes: [
      `statement ${n} of appliance ${appliance}, from ${from} to before ${to}, is ${isNew ? "" : "already "}recorded`,
    ],
    text: () => outputDocument({ out, qr: false }, acknowledgement, "the acknowledgement"),
  };
}
