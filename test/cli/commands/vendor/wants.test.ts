import { describe, expect, test } from "bun:test";
import {
  describeUncheckedWants,
  describeWants,
  signLicenseRequest,
  verifyLicenseRequest,
} from "../../../../src/license/requests/request.ts";
import { OfflineExchange } from "../../../support/offline-exchange.ts";
import { parsePrivateKey } from "../../../../src/license/documents/keys.ts";
import { unwrap } from "../../../support/licensed-store.ts";
import { runBerth, runJsonOrThrow, runOrThrow } from "../../../support/run-berth.ts";
import { readFileSync, writeFileSync } from "node:fs";
import { withEnd } from "../../../support/vendor-commands.ts";

const LINE =
  'the site asks for (not verified): 10 slots, until 2099-12-31, note: "two more people"';

const requestWithWants = async (): Promise<{ exchange: OfflineExchange; path: string }> => {
  const exchange = new OfflineExchange();
  await exchange.open("CAD");
  const path = exchange.path("request.jwt");
  const wants = ["--slots", "10", "--until", "2099-12-31", "--note", "two more people"];
  const request = ["license", "request", ...exchange.dataFlags, "--product", "CAD"];
  await runOrThrow([...request, ...wants, "--out", path]);
  return { exchange, path };
};

/** A site can sign anything with its own key, whatever its server would refuse. */
async function signHostileNote(exchange: OfflineExchange, path: string, note: string) {
  const request = unwrap(await verifyLicenseRequest(readFileSync(path, "utf8").trim()));
  const file = readFileSync(exchange.path("site", "identity.jwk"), "utf8");
  const key = parsePrivateKey(JSON.parse(file));
  if (key === null) throw new Error("the site has no key");
  writeFileSync(path, await signLicenseRequest({ ...request, wants: { note } }, key));
}

const issue = (exchange: OfflineExchange, path: string, ...more: string[]) =>
  runBerth([
    "vendor",
    "issue",
    ...exchange.deskFlags,
    "--request",
    path,
    "--allow-weak-binding",
    ...withEnd(more),
  ]);

describe("the wishes in a request", () => {
  test("are shown by vendor inspect and by vendor issue, with and without --dry-run", async () => {
    const { exchange, path } = await requestWithWants();
    const inspected = await runOrThrow(["vendor", "inspect", path]);
    expect(inspected.split("\n")[1]).toBe(LINE);
    for (const flag of ["--dry-run", "--json"]) {
      const { code, stderr } = await issue(exchange, path, "--slots", "3", flag);
      expect([code, stderr.split("\n")[0]]).toEqual([0, `berth: note: ${LINE}`]);
    }
  });

  test("are never applied by themselves", async () => {
    const { exchange, path } = await requestWithWants();
    const { stdout } = await issue(exchange, path, "--json", "--dry-run");
    expect(JSON.parse(stdout) as object).toMatchObject({
      terms: { slots: 1, valid_until: null },
      wants: { slots: 10, until: "2099-12-31", note: "two more people" },
    });
  });

  test("cannot control the terminal, begin a line or hide text", async () => {
    const { exchange, path } = await requestWithWants();
    const hostile = 'x\u001b[2J\n\u202eberth: error: "no",\u{e0041} until 2099-01-01';
    await signHostileNote(exchange, path, hostile);
    const escaped =
      'the site asks for (not verified): note: "x\\u001b[2J\\n\\u202eberth: error: ' +
      '\\"no\\",\\udb40\\udc41 until 2099-01-01"';
    const inspected = await runOrThrow(["vendor", "inspect", path]);
    expect(inspected.split("\n")[1]).toBe(escaped);
    const issued = await issue(exchange, path, "--dry-run");
    expect(issued.stderr.split("\n")[0]).toBe(`berth: note: ${escaped}`);
    for (const output of [inspected, issued.stdout, issued.stderr])
      for (const hidden of ["\u001b", "\u202e", "\u{e0041}"]) expect(output).not.toContain(hidden);
  });

  test("are absent from the outputs for a request without them", async () => {
    const exchange = new OfflineExchange();
    await exchange.open("CAD");
    await exchange.requestAndIssue("CAD", "--slots", "3");
    const path = exchange.path("request.jwt");
    expect(await runOrThrow(["vendor", "inspect", path])).not.toContain("asks for");
    const json = await runJsonOrThrow<{ payload: object }>(["vendor", "inspect", path]);
    expect(json.payload).not.toHaveProperty("wants");
  });
});

test.each([
  [{ slots: 1 }, "1 slot"],
  [{ until: "2099-12-31" }, "until 2099-12-31"],
  [{ slots: 2, note: "n" }, '2 slots, note: "n"'],
])("describeWants names only what %j asks for", (wants, expected) => {
  expect(describeWants(wants)).toBe(`the site asks for (not verified): ${expected}`);
});

test.each([null, {}, { wants: null }, { wants: {} }, { wants: { note: 5 } }])(
  "describeUncheckedWants says nothing of %j",
  (payload) => expect(describeUncheckedWants(payload)).toBeNull(),
);
