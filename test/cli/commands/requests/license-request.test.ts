import { describe, expect, test } from "bun:test";
import { runBerth, runOrThrow, runJsonOrThrow } from "../../../support/run-berth.ts";
import { OfflineExchange } from "../../../support/offline-exchange.ts";

interface RequestOutput {
  readonly product: string | null;
  readonly warnings: readonly string[];
}

interface InspectOutput {
  readonly payload: { readonly product: string | null };
}

/** Writes a request to a file; returns stderr and the product named in the file. */
async function requestLicense(exchange: OfflineExchange, ...more: string[]) {
  const out = exchange.path("request.jwt");
  const words = ["license", "request", ...exchange.dataFlags, ...more];
  const { code, stdout, stderr } = await runBerth([...words, "--out", out]);
  expect([code, stdout]).toEqual([0, `the request is written to ${out}\n`]);
  const { payload } = await runJsonOrThrow<InspectOutput>(["vendor", "inspect", out]);
  return { stderr, product: payload.product };
}

describe("berth license request", () => {
  test("warns about a product that no trusted vendor licenses, and lists their products", async () => {
    const exchange = new OfflineExchange();
    await exchange.open("CAD", "CAE");
    const { stderr, product } = await requestLicense(exchange, "--product", "XYZ");
    expect(product).toBe("XYZ");
    expect(stderr).toBe("berth: warning: no trusted vendor licenses XYZ; they license CAD, CAE\n");
    expect(await requestLicense(exchange, "--product", "CAE")).toEqual({
      stderr: "",
      product: "CAE",
    });
  });

  test("chooses the only product of the trusted vendors when none is named", async () => {
    const exchange = new OfflineExchange();
    await exchange.open("CAD");
    expect(await requestLicense(exchange)).toEqual({
      product: "CAD",
      stderr: "berth: note: the request is for CAD, the only product of the trusted vendors\n",
    });
  });

  test("chooses the only installed product when none is named", async () => {
    const exchange = new OfflineExchange();
    await exchange.open("CAD", "CAE");
    await runOrThrow(
      exchange.addLicenseCommand(await exchange.requestAndIssue("CAE", "--slots", "3")),
    );
    expect(await requestLicense(exchange)).toEqual({
      product: "CAE",
      stderr: "berth: note: the request is for CAE, the only product installed\n",
    });
    const reply = await runJsonOrThrow<RequestOutput>([
      "license",
      "request",
      ...exchange.dataFlags,
    ]);
    expect(reply).toMatchObject({ product: "CAE", warnings: [] });
  });

  test("names no product and warns when there are several to choose from", async () => {
    const exchange = new OfflineExchange();
    await exchange.open("CAD", "CAE");
    const warning = "the request names no product; choose one with --product: CAD, CAE";
    expect(await requestLicense(exchange)).toEqual({
      product: null,
      stderr: `berth: warning: ${warning}\n`,
    });
    const reply = await runJsonOrThrow<RequestOutput>([
      "license",
      "request",
      ...exchange.dataFlags,
    ]);
    expect(reply).toMatchObject({ product: null, warnings: [warning] });
  });

  test("warns when no vendor is trusted yet", async () => {
    const exchange = new OfflineExchange();
    await exchange.makeSite();
    const { stderr, product } = await requestLicense(exchange);
    expect(product).toBeNull();
    expect(stderr).toBe(
      "berth: warning: no vendor is trusted yet; add the vendor's trust document with berth trust add\n",
    );
  });
});
