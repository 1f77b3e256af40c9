import { describe, expect, test } from "bun:test";
import { runBerth, runOrThrow, runJsonOrThrow } from "../support/run-berth.ts";
import { OfflineExchange } from "../support/offline-exchange.ts";

interface RequestOutput {
  readonly product: string | null;
  readonly warnings: readonly string[];
}

interface InspectOutput {
  readonly payload: { readonly product: string | null };
}

/** Makes a request into a file; what it says on stderr, and the product in the file. */
async function requestLicense(loop: OfflineExchange, ...more: string[]) {
  const out = loop.path("asked.jwt");
  const words = ["license", "request", ...loop.dataFlags, ...more];
  const { code, stdout, stderr } = await runBerth([...words, "--out", out]);
  expect([code, stdout]).toEqual([0, `the request is written to ${out}\n`]);
  const { payload } = await runJsonOrThrow<InspectOutput>(["vendor", "inspect", out]);
  return { stderr, product: payload.product };
}

describe("berth license request", () => {
  test("warns of a product that no trusted vendor licenses, and names those there are", async () => {
    const loop = new OfflineExchange();
    await loop.open("CAD", "CAE");
    const { stderr, product } = await requestLicense(loop, "--product", "XYZ");
    expect(product).toBe("XYZ");
    expect(stderr).toBe("berth: warning: no trusted vendor licenses XYZ; they license CAD, CAE\n");
    expect(await requestLicense(loop, "--product", "CAE")).toEqual({ stderr: "", product: "CAE" });
  });

  test("is for the only product of the trusted vendors when none is named", async () => {
    const loop = new OfflineExchange();
    await loop.open("CAD");
    expect(await requestLicense(loop)).toEqual({
      product: "CAD",
      stderr: "berth: note: the request is for CAD, the only product of the trusted vendors\n",
    });
  });

  test("is for the only product installed when none is named", async () => {
    const loop = new OfflineExchange();
    await loop.open("CAD", "CAE");
    await runOrThrow(loop.addLicenseCommand(await loop.requestAndIssue("CAE", "--slots", "3")));
    expect(await requestLicense(loop)).toEqual({
      product: "CAE",
      stderr: "berth: note: the request is for CAE, the only product installed\n",
    });
    const reply = await runJsonOrThrow<RequestOutput>(["license", "request", ...loop.dataFlags]);
    expect(reply).toMatchObject({ product: "CAE", warnings: [] });
  });

  test("names no product where there are several, and warns of it", async () => {
    const loop = new OfflineExchange();
    await loop.open("CAD", "CAE");
    const warning = "the request names no product; choose one with --product: CAD, CAE";
    expect(await requestLicense(loop)).toEqual({
      product: null,
      stderr: `berth: warning: ${warning}\n`,
    });
    const reply = await runJsonOrThrow<RequestOutput>(["license", "request", ...loop.dataFlags]);
    expect(reply).toMatchObject({ product: null, warnings: [warning] });
  });

  test("says that no vendor is trusted yet", async () => {
    const loop = new OfflineExchange();
    await loop.makeSite();
    const { stderr, product } = await requestLicense(loop);
    expect(product).toBeNull();
    expect(stderr).toBe(
      "berth: warning: no vendor is trusted yet; add the vendor's trust document with berth trust add\n",
    );
  });
});
