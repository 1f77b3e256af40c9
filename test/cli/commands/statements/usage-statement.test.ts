import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DAY, later } from "../../../../src/domain/time.ts";
import { joinFrames, renderQrForTerminal, splitIntoFrames } from "../../../../src/license/qr/qr.ts";
import { wallClock } from "../../../../src/platform/clock.ts";
import { expectOk } from "../../../support/appliance.ts";
import { openDeskAndSite } from "../../../support/desk-and-site.ts";
import { installLicense } from "../../../support/reporting-site.ts";
import { runOrThrow } from "../../../support/run-berth.ts";
import { tempFolder } from "../../../support/temp-folder.ts";

/** The data folder of a site that used features three days ago: long codes for several QR codes. */
async function makeSite(): Promise<string> {
  const opened = await openDeskAndSite();
  const { site } = opened;
  site.clock.now = later(wallClock(), -3 * DAY);
  const features = Array.from({ length: 8 }, () => ({
    code: Buffer.from(crypto.getRandomValues(new Uint8Array(125))).toString("hex"),
    name: "Long",
    floating: { slots: 1 },
  }));
  await installLicense(opened, "sim", { slots: 2, features });
  const fields = { user: "ada", product: "sim" };
  expectOk(await site.register(fields));
  for (const { code } of features)
    expectOk(await site.featureRegister({ ...fields, feature: code }));
  await site.stop();
  return site.folder;
}

const qrCodesOf = (document: string): string =>
  splitIntoFrames(document)
    .map((frame, index, { length }) => {
      const title = `\nthe statement, code ${index + 1} of ${length}\n`;
      return `${title}${renderQrForTerminal(frame)}\n`;
    })
    .join("");

test("berth usage statement --qr shows the statement as QR codes, also when it is written again", async () => {
  const data = await makeSite();
  const out = join(tempFolder(), "statement.jwt");
  const command = ["usage", "statement", "--data", data, "--qr"];
  const written = await runOrThrow([...command, "--out", out]);
  const document = readFileSync(out, "utf8").trim();
  const frames = splitIntoFrames(document);
  expect(frames.length).toBeGreaterThan(1);
  expect(joinFrames(frames)).toMatchObject({ ok: true, value: { text: document } });
  expect(written).toBe(`the statement is written to ${out}\n${qrCodesOf(document)}`);
  const again = await runOrThrow([...command, "--number", "1"]);
  expect(again).toBe(`${document}\n${qrCodesOf(document)}`);
});
