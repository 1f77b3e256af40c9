import { describe, expect, test } from "bun:test";
import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readUnverifiedPayload } from "../../src/license/documents/document.ts";
import { keyIdOf, publicPart } from "../../src/license/documents/keys.ts";
import { LicenseDocument, verifyLicense } from "../../src/license/documents/license.ts";
import { LicenseRequest, verifyLicenseRequest } from "../../src/license/requests/request.ts";
import { VENDOR_KEY } from "../vectors/generate.ts";
import { buildPairVectors, type PairVector } from "../vectors/pair-vectors.ts";

const text = readFileSync(join(import.meta.dir, "../vectors/pair.json"), "utf8");
const vectors = JSON.parse(text) as PairVector[];

const VENDOR = {
  vendor: keyIdOf(VENDOR_KEY),
  name: "Test Vendor",
  version: 1,
  products: ["CAD"],
  keys: [publicPart(VENDOR_KEY)],
};

const closed = { additionalProperties: false };

/** The schemas of Berth 0.1.0, which are closed as well. */
const OLD_SCHEMAS = {
  request: Type.Omit(LicenseRequest, ["pair", "wants"], closed),
  license: Type.Omit(LicenseDocument, ["hosts"], closed),
};

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
          : await verifyLicense(document, [VENDOR]);
      expect(result.ok).toBe(isValid);
    },
  );

  test.each(vectors.map((vector) => [vector.name, vector.hosts === 1, vector] as const))(
    "%s is accepted by Berth 0.1.0: %p",
    (_name, isAccepted, { kind, document }) => {
      expect(Value.Check(OLD_SCHEMAS[kind], readUnverifiedPayload(document))).toBe(isAccepted);
    },
  );
});
