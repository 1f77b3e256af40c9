import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { DOCUMENT_KINDS } from "../../../src/license/documents/document-kinds.ts";
import { splitIntoFrames } from "../../../src/license/qr/qr.ts";
import { recognizeFile } from "../../../src/web/licenses/dropped-file.ts";
import { parseLicenseClaims } from "../../../src/web/licenses/documents.ts";
import { repositoryRoot } from "../../support/sources.ts";

const VECTORS = join(repositoryRoot, "test/vectors/documents");

const kindOf = async (...parts: (string | Uint8Array<ArrayBuffer> | Blob)[]): Promise<string> =>
  (await recognizeFile(new Blob(parts))).kind;

test.each([...DOCUMENT_KINDS])(
  "recognizeFile recognizes a document of the kind %s",
  async (kind) => {
    expect(await kindOf(readFileSync(join(VECTORS, `good-${kind}.jwt`), "utf8"))).toBe(kind);
  },
);

function makeTarHead(): Uint8Array<ArrayBuffer> {
  const head = new Uint8Array(2_048);
  head.set(new TextEncoder().encode("identity.jwk"), 0);
  head.set(new TextEncoder().encode("ustar"), 257);
  return head;
}

test.each([
  ["a backup", "backup", makeTarHead()],
  ["a large backup", "backup", new Blob([makeTarHead(), new Uint8Array(300_000)])],
  ["the backup of a desk", "desk-backup", '{"kind": "berth-desk-backup", "version": 1}'],
  [
    "a large backup of a desk",
    "desk-backup",
    `{"kind": "berth-desk-backup", "x": "${"a".repeat(200_000)}"}`,
  ],
  ["a private key", "key", '{"kty": "OKP", "crv": "Ed25519", "x": "a", "d": "b"}'],
  ["scanned QR codes", "qr", splitIntoFrames("a text").join("\n")],
  ["a text", "text", "not a document"],
  ["a picture", "other", new Uint8Array([0x89, 0x50, 0x4e, 0x47, 0, 1, 2])],
  ["nothing", "other", ""],
  ["a large file", "too-large", "x".repeat(200_000)],
])("recognizeFile recognizes %s as %s", async (_name, kind, content) => {
  expect(await kindOf(content)).toBe(kind);
});

test("parseLicenseClaims reads what a license says, and nothing of another document", () => {
  const payload = {
    license_id: 7,
    terms: { product: "CAD", slots: 3, valid_until: null, customer: "x" },
  };
  const text = `h.${Buffer.from(JSON.stringify(payload)).toString("base64url")}.s`;
  expect(parseLicenseClaims(text)).toEqual({
    license_id: 7,
    product: "CAD",
    slots: 3,
    valid_until: null,
  });
  expect(parseLicenseClaims(readFileSync(join(VECTORS, "good-trust.jwt"), "utf8"))).toBeNull();
  expect(parseLicenseClaims("nothing")).toBeNull();
});
