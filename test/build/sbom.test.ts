import { expect, test } from "bun:test";
import type { BundledPackage } from "../../build/bundled-packages.ts";
import { createSbom } from "../../build/sbom.ts";
import { BUN_VERSION, TARGETS } from "../../build/targets.ts";

const sha512 = `sha512-${Buffer.alloc(64, 0xab).toString("base64")}`;

const makePackage = (name: string, more: Partial<BundledPackage> = {}): BundledPackage => ({
  name,
  version: "1.2.3",
  license: "MIT",
  text: "",
  integrity: sha512,
  dependencies: [],
  ...more,
});

const packages = [
  makePackage("@scope/inner", { license: "MIT OR Apache-2.0", integrity: null }),
  makePackage("jose", { dependencies: ["@scope/inner", "not-bundled"] }),
];
const origin = { commit: "0123456789ab", committedAt: "2026-01-02T03:04:05.000Z" };

test("createSbom lists a package as a component with its purl, license and hash", () => {
  expect(createSbom(packages, TARGETS, origin)).toMatchObject({
    bomFormat: "CycloneDX",
    specVersion: "1.6",
    metadata: { timestamp: origin.committedAt },
    components: [
      {
        type: "library",
        group: "@scope",
        name: "inner",
        purl: "pkg:npm/%40scope/inner@1.2.3",
        licenses: [{ expression: "MIT OR Apache-2.0" }],
      },
      {
        name: "jose",
        purl: "pkg:npm/jose@1.2.3",
        licenses: [{ license: { id: "MIT" } }],
        hashes: [{ alg: "SHA-512", content: "ab".repeat(64) }],
      },
      { type: "platform", name: "bun", version: BUN_VERSION, components: TARGETS.map(() => ({})) },
    ],
    dependencies: [
      { dependsOn: ["pkg:npm/jose@1.2.3", `pkg:npm/bun@${BUN_VERSION}`] },
      { ref: "pkg:npm/%40scope/inner@1.2.3", dependsOn: [] },
      { ref: "pkg:npm/jose@1.2.3", dependsOn: ["pkg:npm/%40scope/inner@1.2.3"] },
    ],
  });
});

test("createSbom is the same for the same commit, and has another serial for another commit", () => {
  const text = (commit: string) =>
    JSON.stringify(createSbom(packages, TARGETS, { ...origin, commit }));
  expect(text("a")).toBe(text("a"));
  const serial = (commit: string) =>
    /urn:uuid:[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}"/.exec(text(commit))?.[0];
  expect(serial("a")).toBeString();
  expect(serial("a")).not.toBe(serial("b"));
});
