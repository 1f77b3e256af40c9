import { verifyRequest } from "../../license/request.ts";
import { wallClock } from "../../platform/clock.ts";
import { Misuse } from "../../platform/options.ts";
import { restoredSince, warningsAbout } from "../../vendor/continuity.ts";
import { issue } from "../../vendor/issue.ts";
import { DONE, Failure, isSet, stringOf, type Command } from "../command.ts";
import { option } from "../flags.ts";
import { handOver } from "../handing-over.ts";
import { readDocument } from "../input-document.ts";
import { deskFlags, numberFlag, openDesk } from "../open-desk.ts";
import { termsFlags, termsGiven } from "../terms-flags.ts";
import { printJson, printWarning } from "../terminal.ts";

export const issueCommand: Command = {
  name: "vendor issue",
  everyday: true,
  summary: "answer a site's request with a signed license, or renew one",
  options: [
    ...deskFlags,
    option.request,
    option.renew,
    option.licenseId,
    option.isNew,
    option.licenseKey,
    option.allowWeakBinding,
    option.acceptFork,
    option.out,
    option.qr,
    option.json,
    ...termsFlags,
  ],
  examples: ["berth vendor issue --dir desk --request request.jwt --slots 10 --out license.jwt"],
  async run(given) {
    const renew = numberFlag(given, "renew");
    const path = stringOf(given, "request");
    if ((path === null) === (renew === null)) {
      throw new Misuse("give either --request or --renew", "berth vendor issue --help");
    }
    const request = path === null ? null : await requestIn(path);
    const opened = await openDesk(given);
    const now = wallClock();
    const restored = request === null ? [] : restoredSince(opened, request);
    const warnings = request === null ? [] : warningsAbout(opened, request, now);
    for (const note of [...restored, ...warnings]) printWarning(note);
    const issued = await issue(opened, {
      request,
      renew,
      licenseId: numberFlag(given, "license-id"),
      isNew: isSet(given, "new"),
      licenseKey: stringOf(given, "license-key"),
      terms: termsGiven(given),
      allowWeakBinding: isSet(given, "allow-weak-binding"),
      acceptFork: stringOf(given, "accept-fork"),
      now,
    });
    const { license_id, serial, document, terms } = issued;
    const { license_key } = terms;
    if (isSet(given, "json")) {
      printJson({ license_id, serial, license_key, document, restored, warnings });
      return DONE;
    }
    const key = license_key === null ? "" : ` key ${license_key},`;
    await handOver(given, document, `license ${license_id}, serial ${serial},${key}`);
    return DONE;
  },
};

async function requestIn(path: string) {
  const verified = await verifyRequest(readDocument(path, "request"));
  if (verified.ok) return verified.value;
  throw new Failure(`${path} ${verified.fault}`, "ask the site for a new request");
}
