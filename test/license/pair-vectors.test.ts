import { describe, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { keyIdOf, publicPart } from "../../src/license/documents/keys.ts";
import { verifyLicense } from "../../src/license/documents/license.ts";
import { verifyLicenseRequest } from "../../src/license/requests/request.ts";
import { VENDOR_KEY } from "../vectors/generate.ts";
import { buildPairVectors, type PairVector } from "../vectors/pair-vectors.ts";

const text = readFileSync(join(import.meta.dir, "../vectors/pair.json"), "utf8");
const vectors = JSON.parse(text) as PairVector[];

const ROOT = { vendor: keyIdOf(VENDOR_KEY), jwk: publicPart(VENDOR_KEY) };

describe("pair.json", () => {
  test("is what the generator writes", () => {
    expect(vectors).toEqual(buildPairVectors());
  });

  test.each(vectors.map((vector) => [vector.name, vector.valid, vector] as const))(
    "%s is valid: %p",
    async (_name, isValid, { kind, document }) => {
      const result =
        kind === "request"
          ? await verifyLicenseRequest(document)
          : await verifyLicense(document, [ROOT]);
      expect(result.ok).toBe(isValid);
    },
  );
});
