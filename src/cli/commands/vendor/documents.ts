import { decodeTimeCode, signTimeDocument } from "../../../license/time-document.ts";
import { wallClock } from "../../../platform/clock.ts";
import { inspectDocument } from "../../../desk/inspect-document.ts";
import { receiveReceipt } from "../../../desk/receive-receipt.ts";
import {
  EXIT_OK,
  readOutputFlags,
  EXIT_FAILURE,
  Failure,
  isFlagSet,
  getStringFlag,
  type Command,
} from "../../frame/command.ts";
import { option } from "../../frame/flags.ts";
import { checkOutputPath, outputDocument } from "../../files/output-document.ts";
import { readDocument } from "../../files/input-document.ts";
import {
  deskFlags as desk,
  deskFolderFlag,
  openDesk,
  getDeskFolder,
  openDeskRecords,
} from "../../vendor/open-desk.ts";
import { print, printParts, printJson } from "../../frame/terminal.ts";

const time: Command = {
  name: "vendor time",
  summary: "answer a site's clock code with a signed time document",
  options: [...desk, option.clockCode, option.out, option.json],
  async run(flags) {
    const timeCode = decodeTimeCode(getStringFlag(flags, "code") ?? "");
    if (timeCode === null)
      throw new Failure("CODE is not a clock code", "berth clock prints one at the site");
    checkOutputPath(readOutputFlags(flags), "time");
    const { vendor, key } = await openDesk(flags);
    const iat = Math.floor(wallClock() / 1_000);
    const document = await signTimeDocument({ iss: vendor.vendor, iat, ...timeCode }, key);
    if (isFlagSet(flags, "json")) printJson({ time: document });
    else printParts(await outputDocument(readOutputFlags(flags), document, "the time"));
    return EXIT_OK;
  },
};

const receiveCommand: Command = {
  name: "vendor receive",
  summary: "record a receipt for a returned license",
  options: [deskFolderFlag, option.json],
  arguments: ["FILE"],
  async run(flags) {
    const document = readDocument(flags.positionals[0], "receipt");
    const receipt = await receiveReceipt(
      await openDeskRecords(getDeskFolder(flags)),
      document,
      wallClock(),
    );
    if (isFlagSet(flags, "json")) printJson(receipt);
    else print(`license ${receipt.license_id}, serial ${receipt.serial}, is recorded as returned`);
    return EXIT_OK;
  },
};

const inspectCommand: Command = {
  name: "vendor inspect",
  summary: "show the contents of a Berth document and verify its signature; needs no passphrase",
  options: [option.deskFolder, option.json],
  arguments: ["FILE"],
  async run(flags) {
    const document = readDocument(flags.positionals[0], null);
    const records = flags.values.has("dir") ? await openDeskRecords(getDeskFolder(flags)) : null;
    const inspection = await inspectDocument(document, records);
    if (isFlagSet(flags, "json")) printJson(inspection);
    else {
      const { kind, verdict, fingerprint, payload } = inspection;
      print(`${kind}: ${verdict}`);
      if (fingerprint !== null) print(`fingerprint ${fingerprint}`);
      print(JSON.stringify(payload, null, 2));
    }
    return inspection.verified ? EXIT_OK : EXIT_FAILURE;
  },
};

/** Commands for the documents of a site. */
export const documentCommands: readonly Command[] = [time, receiveCommand, inspectCommand];
