import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { OfflineExchange } from "../../../support/offline-exchange.ts";
import { runBerth, runJsonOrThrow, runOrThrow } from "../../../support/run-berth.ts";

interface Requested {
  readonly request_id: string;
  readonly payload: string;
}

const openExchange = async (): Promise<OfflineExchange> => {
  const exchange = new OfflineExchange();
  await exchange.open("CAD");
  return exchange;
};

const WANTS = ["--slots", "10", "--until", "2099-12-31", "--note", "two more people"];

const request = (exchange: OfflineExchange, ...more: string[]): Promise<Requested> =>
  runJsonOrThrow(["license", "request", ...exchange.dataFlags, "--product", "CAD", ...more]);

describe("berth license requests", () => {
  test("lists open requests with what they ask for, and says when there is none", async () => {
    const exchange = await openExchange();
    const command = ["license", "requests", ...exchange.dataFlags];
    expect(await runOrThrow(command)).toBe("no open requests\n");
    const { request_id } = await request(exchange, ...WANTS);
    const stdout = await runOrThrow(command);
    const [header, row] = stdout.split("\n");
    expect(header).toMatch(/^REQUEST +KIND +CREATED +PRODUCT +KEY +HOSTS +SLOTS +UNTIL +NOTE$/);
    expect(row).toMatch(
      new RegExp(`^${request_id} +file +\\S+ +CAD +- +- +10 +2099-12-31 +two more people$`),
    );
  });

  test("lists activation codes too, which can be cancelled", async () => {
    const exchange = await openExchange();
    await runOrThrow(["airgap", "request", ...exchange.dataFlags, "--license-key", "K-1"]);
    const command = ["license", "requests", ...exchange.dataFlags];
    const [listed] = await runJsonOrThrow<{ id: string; activation_code: string }[]>(command);
    expect(listed).toMatchObject({ kind: "code", license_key: "K-1" });
    await runOrThrow(["license", "cancel", listed?.id ?? "", ...exchange.dataFlags, "--yes"]);
    expect(await runJsonOrThrow<unknown[]>(command)).toEqual([]);
  });
});

describe("berth license request --show", () => {
  test("writes the same document again", async () => {
    const exchange = await openExchange();
    const { request_id, payload } = await request(exchange, ...WANTS);
    const out = exchange.path("again.jwt");
    await runOrThrow([
      "license",
      "request",
      ...exchange.dataFlags,
      "--show",
      request_id,
      "--out",
      out,
    ]);
    expect(readFileSync(out, "utf8")).toBe(`${payload}\n`);
  });

  test("prints an activation code again", async () => {
    const exchange = await openExchange();
    await runOrThrow(["airgap", "request", ...exchange.dataFlags, "--license-key", "K-1"]);
    const list = ["license", "requests", ...exchange.dataFlags];
    const [listed] = await runJsonOrThrow<{ id: string; activation_code: string }[]>(list);
    const { id = "", activation_code: code = "" } = listed ?? {};
    expect(code).not.toBe("");
    const show = ["license", "request", ...exchange.dataFlags, "--show", id];
    expect(await runOrThrow(show)).toBe(`${code}\n`);
  });

  test("is refused together with wishes, and for an unknown id", async () => {
    const exchange = await openExchange();
    const show = ["license", "request", ...exchange.dataFlags, "--show", "00"];
    const withWish = await runBerth([...show, "--slots", "3"]);
    expect([withWish.code, withWish.stderr]).toEqual([
      2,
      expect.stringContaining("--show shows a request as it was created") as string,
    ]);
    const unknown = await runBerth(show);
    expect([unknown.code, unknown.stderr]).toEqual([
      1,
      "berth: error: no open request has this id (request_not_found)\n" +
        "berth: hint: berth license requests lists the open requests\n",
    ]);
  });
});

describe("berth license request with wishes", () => {
  test.each([
    ["--slots", "0", "must be a whole number from 1"],
    ["--slots", "many", "must be a whole number from 1"],
    ["--until", "2027-02-30", "must be a day"],
  ])("refuses %s %s before it creates a request", async (flag, value, message) => {
    const exchange = await openExchange();
    const words = ["license", "request", ...exchange.dataFlags, flag, value];
    const { code, stderr } = await runBerth(words);
    expect([code, stderr]).toEqual([2, expect.stringContaining(message) as string]);
    const command = ["license", "requests", ...exchange.dataFlags];
    expect(await runJsonOrThrow<unknown[]>(command)).toEqual([]);
  });

  test("refuses a note that is too long, and names its flag", async () => {
    const exchange = await openExchange();
    const words = ["license", "request", ...exchange.dataFlags, "--note"];
    const { code, stderr } = await runBerth([...words, "x".repeat(501)]);
    expect([code, stderr]).toEqual([
      2,
      "berth: error: --note may have at most 500 characters\nberth: hint: it has 501\n",
    ]);
    expect((await runBerth([...words, "x".repeat(500)])).code).toBe(0);
  });
});

describe("berth license cancel", () => {
  test("cancels a request, and its answer is refused with the reason", async () => {
    const exchange = await openExchange();
    const license = await exchange.requestAndIssue("CAD", "--slots", "3");
    const list = ["license", "requests", ...exchange.dataFlags];
    const [open] = await runJsonOrThrow<{ id: string }[]>(list);
    const cancel = ["license", "cancel", open?.id ?? "", ...exchange.dataFlags];
    const unconfirmed = await runBerth(cancel);
    expect([unconfirmed.code, unconfirmed.stderr]).toEqual([
      2,
      expect.stringContaining("confirmation is required") as string,
    ]);
    const stdout = await runOrThrow([...cancel, "--yes"]);
    expect(stdout).toBe(`request ${open?.id ?? ""} is cancelled\n`);
    const { code, stderr } = await runBerth(exchange.addLicenseCommand(license));
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining("the request that this license answers was cancelled here") as string,
    ]);
  });
});
