import { decodeTimeCode, signTimeDocument } from "../../license/time-document.ts";
import { wallClock } from "../../platform/clock.ts";
import { inspectDocument } from "../../desk/inspect-document.ts";
import { receiveReceipt } from "../../desk/receive-receipt.ts";
import { DONE, FAILED, Failure, isSet, stringOf, type Command } from "../command.ts";
import { option } from "../flags.ts";
import { checkOut, handOver } from "../handing-over.ts";
import { readDocument } from "../input-document.ts";
import { deskFlags as desk, deskFolderFlag, openDesk, openDeskRecords } from "../open-desk.ts";
import { print, printJson } from "../terminal.ts";

const time: Command = {
  name: "vendor time",
  summary: "answer a site's clock code with a signed time document",
  options: [...desk, option.clockCode, option.out, option.json],
  async run(given) {
    const asked = decodeTimeCode(stringOf(given, "code") ?? "");
    if (asked === null)
      throw new Failure("CODE is not a clock code", "berth clock prints one at the site");
    checkOut(given, "time");
    const at = await openDesk(given);
    const iat = Math.floor(wallClock() / 1_000);
    const document = await signTimeDocument({ iss: at.vendor.vendor, iat, ...asked }, at.key);
    if (isSet(given, "json")) printJson({ time: document });
    else await handOver(given, document, "the time");
    return DONE;
  },
};

const receiveCommand: Command = {
  name: "vendor receive",
  summary: "record a receipt for a returned license",
  options: [deskFolderFlag, option.json],
  arguments: ["FILE"],
  async run(given) {
    const document = readDocument(given.words[0], "receipt");
    const receipt = await receiveReceipt(await openDeskRecords(given), document, wallClock());
    if (isSet(given, "json")) printJson(receipt);
    else print(`license ${receipt.license_id}, serial ${receipt.serial}, is recorded as returned`);
    return DONE;
  },
};

const inspectCommand: Command = {
  name: "vendor inspect",
  summary: "show the contents of a Berth document and verify its signature; needs no passphrase",
  options: [option.dir, option.json],
  arguments: ["FILE"],
  async run(given) {
    const document = readDocument(given.words[0], null);
    const trusting = given.values.has("dir") ? await openDeskRecords(given) : null;
    const found = await inspectDocument(document, trusting);
    if (isSet(given, "json")) printJson(found);
    else {
      const { kind, verdict, fingerprint, payload } = found;
      print(`${kind}: ${verdict}`);
      if (fingerprint !== null) print(`fingerprint ${fingerprint}`);
      print(JSON.stringify(payload, null, 2));
    }
    return found.verified ? DONE : FAILED;
  },
};

/** Documents that a site sent, or that a vendor found somewhere. */
export const documentCommands: readonly Command[] = [time, receiveCommand, inspectCommand];
