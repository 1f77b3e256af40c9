import { afterAll, describe, expect, test } from "bun:test";
import { createPublicKey, verify } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  signConfirmationCode,
  decodeConfirmationCode,
  verifyConfirmationCode,
  type ConfirmationClaims,
} from "../../src/license/codes/confirmation.ts";
import { DAY, instant } from "../../src/domain/time.ts";
import { Client } from "../../src/clients/berth.js";
import {
  signCertified,
  signDocument,
  verifyDocument,
} from "../../src/license/documents/document.ts";
import {
  DOCUMENT_KINDS,
  isCertified,
  type CertifiedKind,
  type DocumentKind,
} from "../../src/license/documents/document-kinds.ts";
import { keyIdOf, parsePrivateKey, publicPart } from "../../src/license/documents/keys.ts";
import { verifyLicense } from "../../src/license/documents/license.ts";
import { verifyLicenseRequest } from "../../src/license/requests/request.ts";
import { verifyTrustDocument } from "../../src/license/documents/trust.ts";
import {
  APPLIANCE_KEY,
  buildCodeVectors,
  buildHeader,
  buildRequestVectors,
  CERTIFICATE,
  headerFor,
  ISSUING_KEY,
  keyIdOf as independentKeyId,
  PAYLOADS,
  RETIRED_KEY,
  signerFor,
  signUnchecked,
  VENDOR_KEY,
  buildVectors,
} from "../vectors/generate.ts";
import { BAD_LICENSES, GOOD_LICENSES, RETIRED_LICENSE } from "../vectors/verdicts.ts";
import { loadLeaseCheck, tableRowsBelow } from "../support/documents.ts";
import { tempFolder } from "../support/temp-folder.ts";

const folder = join(import.meta.dir, "../vectors/documents");
const checkLease = await loadLeaseCheck("checkLease", tempFolder(afterAll));
const files = readdirSync(folder).toSorted();
const read = (name: string): string => readFileSync(join(folder, name), "utf8");

/**
 * A second implementation: Ed25519 over the first two parts as they are. It ignores headers and
 * accepts any spelling of Base64url.
 */
function isSignatureValid(text: string, { x }: { readonly x: string }): boolean {
  const [header = "", payload = "", signature = ""] = text.split(".");
  const key = createPublicKey({ key: { kty: "OKP", crv: "Ed25519", x }, format: "jwk" });
  const bytes = Buffer.from(signature, "base64url");
  return verify(null, Buffer.from(`${header}.${payload}`), key, bytes);
}

const jsonOf = (part: string | undefined): unknown =>
  JSON.parse(Buffer.from(part ?? "", "base64url").toString("utf8"));

test("the second implementation agrees with the example of RFC 8037, A.4", () => {
  const example =
    "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc.hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg";
  expect(isSignatureValid(example, VENDOR_KEY)).toBe(true);
  expect(isSignatureValid(example.replace("RXh", "RXi"), VENDOR_KEY)).toBe(false);
});

describe("test/vectors/documents", () => {
  test("contains exactly the files that generate.ts writes, byte for byte", () => {
    const vectors = buildVectors();
    expect(files).toEqual([...vectors.keys()].toSorted());
    for (const [name, text] of vectors) expect(read(name)).toBe(text);
  });

  test("has a valid document of each kind", () => {
    const good = files.filter((name) => /^good-(?!license-)/.test(name));
    expect(good).toEqual(DOCUMENT_KINDS.map((kind) => `good-${kind}.jwt`).toSorted());
  });

  test.each([
    ["vendor", VENDOR_KEY],
    ["issuing", ISSUING_KEY],
    ["appliance", APPLIANCE_KEY],
  ])("has the key of the %s, marked as a test key", (owner, key) => {
    const text = read(`TEST-KEY-${owner}.jwk.json`);
    expect(text).toContain("TEST KEY");
    expect(parsePrivateKey(JSON.parse(text))).toEqual(key);
    expect(keyIdOf(key)).toBe(independentKeyId(key));
  });
});

const isCertifiedKind = (kind: DocumentKind): kind is CertifiedKind => isCertified(kind);

describe.each(DOCUMENT_KINDS.map((kind) => ({ kind })))("good-$kind.jwt", ({ kind }) => {
  const text = read(`good-${kind}.jwt`);
  const signer = signerFor(kind);

  test("verifies with Berth", async () => {
    const result = await verifyDocument(kind, text, publicPart(signer));
    expect(result).toEqual({ ok: true, value: PAYLOADS[kind] });
  });

  test("verifies with the second implementation", () => {
    const [header, payload] = text.split(".");
    expect(isSignatureValid(text, signer)).toBe(true);
    expect(jsonOf(header)).toEqual(headerFor(kind));
    expect(jsonOf(payload)).toEqual(PAYLOADS[kind]);
  });

  test("equals what Berth signs for the same payload", async () => {
    const issuing = { key: signer, cert: CERTIFICATE };
    const signed = isCertifiedKind(kind)
      ? signCertified(kind, PAYLOADS[kind], issuing)
      : signDocument(kind, PAYLOADS[kind], signer);
    expect(await signed).toBe(text);
  });

  test("fails with another key in both implementations", async () => {
    const other = signer === VENDOR_KEY ? APPLIANCE_KEY : VENDOR_KEY;
    expect((await verifyDocument(kind, text, publicPart(other))).ok).toBe(false);
    expect(isSignatureValid(text, other)).toBe(false);
  });
});

describe("codes.json", () => {
  const vectors = buildCodeVectors();
  const names = Object.keys(vectors) as (keyof typeof vectors)[];
  const tail = { validUntil: instant(20_500 * DAY), serial: 7 };

  const claimsOf = (name: keyof typeof vectors, weak: boolean): ConfirmationClaims => {
    const { items } = vectors[name];
    return {
      activation: {
        appliance: independentKeyId(APPLIANCE_KEY),
        nonce: items.nonce,
        hardwarePrefix: items.hardware_prefix,
        weak,
      },
      licenseKey: Buffer.from(items.license_key, "hex").toString(),
      policyHash: items.policy_sha256,
      initializationCode: "7k2mx-00110",
    };
  };

  test("contains exactly what generate.ts writes", () => {
    const text = readFileSync(join(folder, "../codes.json"), "utf8");
    expect(JSON.parse(text)).toEqual(vectors);
  });

  test.each(names)("%s has a valid bare signature of the issuing key", (name) => {
    const { signed, code } = vectors[name];
    const key = createPublicKey({ key: publicPart(ISSUING_KEY), format: "jwk" });
    const signature = Buffer.from(code, "hex").subarray(0, 64);
    expect(verify(null, Buffer.from(signed, "hex"), key, signature)).toBe(true);
  });

  test.each([
    ["confirmation-v2-strong", false],
    ["confirmation-v2-weak", true],
  ] as const)("%s equals what Berth signs, and is valid for that kind only", async (name, weak) => {
    const code = await signConfirmationCode(claimsOf(name, weak), tail, ISSUING_KEY);
    const decoded = decodeConfirmationCode(code);
    expect(decoded).toEqual({ ok: true, value: { ...tail, bytes: vectors[name].code } });
    const confirmation = { ...tail, bytes: vectors[name].code };
    const key = publicPart(ISSUING_KEY);
    expect(await verifyConfirmationCode(claimsOf(name, weak), confirmation, key)).toBe(true);
    expect(await verifyConfirmationCode(claimsOf(name, !weak), confirmation, key)).toBe(false);
  });
});

test("good-trust.jwt is a valid trust document", async () => {
  const result = await verifyTrustDocument(read("good-trust.jwt"));
  expect(result).toMatchObject({
    ok: true,
    value: { vendor: independentKeyId(VENDOR_KEY), version: 1 },
  });
});

const ROOT = { vendor: independentKeyId(VENDOR_KEY), jwk: publicPart(VENDOR_KEY) };

describe("a license", () => {
  const verdicts = [...GOOD_LICENSES, ...BAD_LICENSES];

  test("has a verdict for each file in the folder", () => {
    const ofLicenses = files.filter((name) => /^(bad|good-license|retired)/.test(name));
    const names = [...verdicts.map(({ name }) => name), RETIRED_LICENSE];
    expect(names.map((name) => `${name}.jwt`).toSorted()).toEqual(ofLicenses);
  });

  test("has a row in the README for each bad file, with the same verdict", () => {
    const rows = tableRowsBelow("test/vectors/README.md", "## Bad");
    const yes = (is: boolean): string => (is ? "yes" : "no");
    const shown = rows.map(([name, , ...columns]) => [name, ...columns].join(" "));
    const expected = BAD_LICENSES.map(
      ({ name, isSigned, isAcceptedByLibrary }) =>
        `\`${name.slice("bad-".length)}\` ${yes(isSigned)} ${yes(isAcceptedByLibrary)}`,
    );
    expect(shown.toSorted()).toEqual(expected.toSorted());
  });

  test.each(verdicts.map((verdict) => [verdict.name, verdict.wrong, verdict] as const))(
    "%s.jwt has the fault %p",
    async (name, wrong, { isSigned }) => {
      const text = read(`${name}.jwt`);
      expect(isSignatureValid(text, ISSUING_KEY)).toBe(isSigned);
      const result = await verifyLicense(text, [ROOT]);
      expect(result.ok ? null : result.fault.wrong).toBe(wrong);
    },
  );

  test("of a retired key is verified, and names the key", async () => {
    expect(await verifyLicense(read(`${RETIRED_LICENSE}.jwt`), [ROOT])).toMatchObject({
      ok: true,
      value: { signer: { vendor: ROOT, key: publicPart(RETIRED_KEY) } },
    });
    const trust = await verifyTrustDocument(read("good-trust.jwt"));
    expect(trust).toMatchObject({ ok: true, value: { retired: [independentKeyId(RETIRED_KEY)] } });
  });
});

describe("an application", () => {
  const NONCE = "device-0123456789";
  const PRODUCT = PAYLOADS.license.terms.product;

  /** A lease under a license, for this hour. */
  function leaseUnder(license: string): string {
    const now = Math.floor(Date.now() / 1_000);
    const { license_id, serial } = PAYLOADS.license;
    const lic = new Bun.CryptoHasher("sha256").update(license).digest("hex");
    const iss = independentKeyId(APPLIANCE_KEY);
    const terms = { license_id, serial, lic, iat: now, exp: now + 3_600, nonce: NONCE };
    const payload = { iss, sub: "ada", aud: PRODUCT, jti: "1", ...terms };
    return signUnchecked(buildHeader("lease", APPLIANCE_KEY), payload, APPLIANCE_KEY);
  }

  const isAccepted = (checked: Promise<unknown>): Promise<boolean> =>
    checked.then(
      () => true,
      () => false,
    );

  async function checkWithGuide(license: string, retired: readonly string[]): Promise<boolean> {
    const rootKey = publicPart(VENDOR_KEY);
    const given = { rootKey, retired, product: PRODUCT, nonce: NONCE };
    return isAccepted(checkLease({ license, lease: leaseUnder(license), ...given }));
  }

  async function checkWithClient(license: string, retired: readonly string[]): Promise<boolean> {
    const options = { rootKeys: VENDOR_KEY.x, retired, nonce: NONCE };
    const client = new Client("http://127.0.0.1:9", PRODUCT, options);
    return isAccepted(client.verify(leaseUnder(license), license));
  }

  for (const verdict of [...GOOD_LICENSES, ...BAD_LICENSES]) {
    const { name, wrong, isAcceptedByLibrary } = verdict;
    const text = read(`${name}.jwt`);

    test(`${isAcceptedByLibrary ? "accepts" : "refuses"} ${name}.jwt with the guide's check`, async () => {
      expect(await checkWithGuide(text, [])).toBe(isAcceptedByLibrary);
    });

    test(`${wrong === null ? "accepts" : "refuses"} ${name}.jwt with berth.js`, async () => {
      expect(await checkWithClient(text, [])).toBe(wrong === null);
    });
  }

  test.each([
    ["the guide's check", checkWithGuide],
    ["berth.js", checkWithClient],
  ])("refuses a license of a retired key alone with %s", async (_name, check) => {
    const [good, retired] = [read("good-license.jwt"), read(`${RETIRED_LICENSE}.jwt`)];
    expect(await check(retired, [])).toBe(true);
    expect(await check(retired, [RETIRED_KEY.x])).toBe(false);
    expect(await check(good, [RETIRED_KEY.x])).toBe(true);
  });
});

describe("requests.json", () => {
  const text = readFileSync(join(folder, "../requests.json"), "utf8");
  const vectors = JSON.parse(text) as ReturnType<typeof buildRequestVectors>;

  test("is what the generator writes", () => {
    expect(vectors).toEqual(JSON.parse(JSON.stringify(buildRequestVectors())) as typeof vectors);
  });

  test.each(vectors.map((vector) => [vector.name, vector.valid, vector] as const))(
    "%s is a valid request: %p",
    async (_name, isValid, { document, wants }) => {
      const result = await verifyLicenseRequest(document);
      expect(result.ok).toBe(isValid);
      if (result.ok) expect([result.value.wants ?? null]).toEqual([wants as never]);
      else expect(result.fault).toEqual({ wrong: "content", expected: "request" });
    },
  );
});
