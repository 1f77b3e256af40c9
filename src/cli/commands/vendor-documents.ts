import { decodeTimeCode, signTime } from "../../license/time.ts";
import { wallClock } from "../../platform/clock.ts";
import { inspect } from "../../vendor/inspect.ts";
import { receive } from "../../vendor/receive.ts";
import { DONE, FAILED, Failure, isSet, stringOf, type Command } from "../command.ts";
import { option } from "../flags.ts";
import { checkOut, handOver } from "../handing-over.ts";
import { readDocument } from "../input-document.ts";
import { deskFlags as desk, deskFolderFlag, openDesk, openDeskRecords } from "../open-desk.ts";
import { print, printJson } from "../terminal.ts";

const time: Command = {
  name: "vendor time",
  summary: "answer a site's clock code with the time",
  options: [...desk, option.clockCode, option.out, option.json],
  async run(given) {
    const asked = decodeTimeCode(stringOf(given, "code") ?? "");
    if (asked === null) throw new Failure("that is not a clock code", "berth clock prints one");
    checkOut(given, "time");
    const at = await openDesk(given);
    const iat = Math.floor(wallClock() / 1_000);
    const document = await signTime({ iss: at.vendor.vendor, iat, ...asked }, at.key);
    if (isSet(given, "json")) printJson({ time: document });
    else await handOver(given, document, "the time");
    return DONE;
  },
};

const receiveCommand: Command = {
  name: "vendor receive",
  summary: "take in a receipt: a license given back",
  options: [deskFolderFlag, option.json],
  arguments: ["FILE"],
  async run(given) {
    const document = readDocument(given.words[0], "receipt");
    const receipt = await receive(await openDeskRecords(given), document, wallClock());
    if (isSet(given, "json")) printJson(receipt);
    else print(`license ${receipt.license_id}, serial ${receipt.serial}, was given back`);
    return DONE;
  },
};

const inspectCommand: Command = {
  name: "vendor inspect",
  summary: "show any of our documents, and whether it verifies; needs no passphrase",
  options: [option.dir, option.json],
  arguments: ["FILE"],
  async run(given) {
    const document = readDocument(given.words[0], null);
    const trusting = given.values.has("dir") ? await openDeskRecords(given) : null;
    const found = await inspect(document, trusting);
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
