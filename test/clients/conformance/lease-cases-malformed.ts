// Texts that are no leases and no licenses, and signed documents with wrong contents: they are
// refused, and no text stops the program.
import { publicPart } from "../../../src/license/documents/keys.ts";
import {
  accepts,
  BAD_LEASE,
  BAD_LICENSE,
  LAXER_EXAMPLE,
  leaseUnder,
  refuses,
  type LeaseCase,
} from "./lease-cases.ts";
import {
  secondsFromNow,
  signJwt,
  signJwtOfLength,
  type LeaseIssuer,
  type Members,
} from "./lease-documents.ts";

/** Texts that are neither a JWT nor a bundle. */
const TEXTS: Readonly<Record<string, string>> = {
  "an empty text": "",
  "a space": " ",
  "two dots": "..",
  "a thousand dots": ".".repeat(1_000),
  "three parts that are no JSON": "AAAA.AAAA.AAAA",
  "parts of one character": "A.A.A",
  "characters outside of base64url": "é.é.é",
  "the word null": "null",
  "a list": "[]",
  "an empty object": "{}",
  "an object that does not end": '{"policy":',
  "an object in an object that does not end": '{"a":{"a":',
  "a text of 1 MiB": "A".repeat(1_048_576),
  "three parts of 1 MiB in all": `${"QUFB".repeat(87_000)}.`.repeat(2) + "QUFB".repeat(87_000),
  "an object of 1 MiB": `{"policy":"${"A".repeat(1_048_000)}"}`,
  "lists in lists, 200,000 deep": `{"policy":${"[".repeat(200_000)}`,
  "objects in objects, 100,000 deep": '{"a":'.repeat(100_000),
  // A check that compares each member with all others would take minutes.
  "an object of 60,000 members": textOfMembers(60_000),
  "a number of 100,000 digits": `{"kind":${"9".repeat(100_000)}}`,
  "a broken escape": '{"policy":"\\u12',
};

/** An object of so many members. */
function manyMembers(count: number): Members {
  return Object.fromEntries(Array.from({ length: count }, (_, index) => [String(index), 0]));
}

function textOfMembers(count: number): string {
  return JSON.stringify(manyMembers(count));
}

/** The limits that all clients have. */
const MAX_DOCUMENT = 49_152;
const MAX_MEMBERS = 256;

/** Values of other types, per type of the right one. */
const OTHER_TYPES = {
  text: [null, true, 7, ["x"], { x: 1 }],
  integer: [null, true, "1", [1], { x: 1 }, 1.5],
  number: [null, true, "1", [1], { x: 1 }],
  boolean: [null, 1, "true", "false", [], {}],
  object: [null, true, 7, "x", []],
} as const;

/** The members that a check needs; a missing nonce means a lease for no device. */
const LEASE_MEMBERS: Readonly<Record<string, keyof typeof OTHER_TYPES>> = {
  iss: "text",
  sub: "text",
  aud: "text",
  license_id: "integer",
  lic: "text",
  serial: "integer",
  iat: "integer",
  exp: "integer",
};

const LICENSE_MEMBERS: typeof LEASE_MEMBERS = {
  appliance: "text",
  cnf: "object",
  license_id: "integer",
  serial: "integer",
  terms: "object",
};

const TERMS_MEMBERS: typeof LEASE_MEMBERS = {
  product: "text",
  enabled: "boolean",
  timeout_minutes: "number",
};

/** Bytes that are not UTF-8. */
const BYTES: Readonly<Record<string, readonly number[]>> = {
  "a byte that is no UTF-8": [0xff],
  "the first byte of a character": [0xc3],
  "an overlong character": [0xc0, 0xaf],
  "half of a surrogate pair": [0xed, 0xa0, 0x80],
};

export function makeMalformedCases(issuer: LeaseIssuer): LeaseCase[] {
  const { appliance, issuingKey, leaseHeader, licenseHeader } = issuer;
  const license = issuer.license();
  const signLease = (payload: string | Uint8Array, header: string | object = leaseHeader) => ({
    license,
    lease: signJwt(header as string, payload, appliance),
  });
  const leaseText = () => JSON.stringify(issuer.leasePayload(license));
  const withLicense = (text: string) => ({ license: text, lease: issuer.lease(license) });
  const signLicense = (payload: string | Uint8Array, header: string | object = licenseHeader) =>
    withLicense(signJwt(header as string, payload, issuingKey));
  const fillers = ["", " ", "  "];
  const leaseOfLength = (length: number) => {
    const headers = fillers.map((later) => ({ ...leaseHeader, later }));
    return {
      license,
      lease: signJwtOfLength(length, headers, issuer.leasePayload(license), appliance),
    };
  };
  const licenseOfLength = (length: number) => {
    // The header is exact, so its length depends on that of the certificate.
    const headers = fillers.map((space) => ({ ...licenseHeader, cert: issuer.certify(space) }));
    const text = signJwtOfLength(length, headers, issuer.licensePayload(), issuingKey);
    return { license: text, lease: issuer.lease(text) };
  };
  const licenseText = () => JSON.stringify(issuer.licensePayload());
  const deep = "[".repeat(100_000) + "]".repeat(100_000);

  const wrongTypes = (members: typeof LEASE_MEMBERS): [string, unknown][] =>
    Object.entries(members).flatMap(([member, type]) =>
      [undefined, ...OTHER_TYPES[type]].map((value): [string, unknown] => [member, value]),
    );
  const show = (value: unknown) => (value === undefined ? "missing" : JSON.stringify(value));

  return [
    ...Object.entries(TEXTS).flatMap(([title, text]) => [
      refuses(`a license that is ${title}`, "license_malformed", () => withLicense(text)),
      refuses(`a lease that is ${title}`, "lease_malformed", () => ({ license, lease: text })),
    ]),
    refuses(
      "a license that is half of a UTF-16 pair",
      "license_malformed",
      () => withLicense("\ud800"),
      { isImpossibleInC: true },
    ),
    refuses(
      "a lease with a NUL character at the end",
      BAD_LEASE,
      () => ({ license, lease: `${issuer.lease(license)}\0` }),
      { isImpossibleInC: true, ...LAXER_EXAMPLE },
    ),
    ...wrongTypes(LEASE_MEMBERS).map(([member, value]) =>
      refuses(
        `a lease whose ${member} is ${show(value)}`,
        "lease_malformed",
        () => leaseUnder(issuer, {}, { [member]: value }),
        LAXER_EXAMPLE,
      ),
    ),
    ...["iat", "exp", "nbf"].map((member) =>
      refuses(`a lease whose ${member} has half a second`, "lease_malformed", () =>
        leaseUnder(issuer, {}, { [member]: secondsFromNow(0) + 0.5 }),
      ),
    ),
    ...OTHER_TYPES.integer.map((value) =>
      refuses(`a lease whose nbf is ${show(value)}`, "lease_malformed", () =>
        leaseUnder(issuer, {}, { nbf: value }),
      ),
    ),
    ...["iat", "exp", "nbf"].map((member) =>
      refuses(
        `a lease whose ${member} is after the year 9999`,
        "lease_malformed",
        () => leaseUnder(issuer, {}, { [member]: 253_402_300_800 }),
        LAXER_EXAMPLE,
      ),
    ),
    refuses(
      "a lease whose nbf is before 1970",
      "lease_malformed",
      () => leaseUnder(issuer, {}, { nbf: -1 }),
      LAXER_EXAMPLE,
    ),
    accepts("a lease whose times are whole numbers with a decimal point", () =>
      signLease(leaseText().replaceAll(/"(iat|exp)":(\d+)/g, '"$1":$2.0')),
    ),
    ...[true, 7, [], {}].map((value) =>
      refuses(`a lease whose nonce is ${show(value)}`, ["lease_malformed", "other_device"], () =>
        leaseUnder(issuer, {}, { nonce: value }),
      ),
    ),
    ...wrongTypes(LICENSE_MEMBERS).map(([member, value]) =>
      refuses(
        `a license whose ${member} is ${show(value)}`,
        "license_malformed",
        () => withLicense(issuer.license({}, { [member]: value })),
        LAXER_EXAMPLE,
      ),
    ),
    ...wrongTypes(TERMS_MEMBERS).map(([member, value]) =>
      refuses(
        `terms whose ${member} is ${show(value)}`,
        "license_malformed",
        () => withLicense(issuer.license({ [member]: value })),
        LAXER_EXAMPLE,
      ),
    ),
    ...["start", "valid_until"].flatMap((member) =>
      [true, 7, "", "tomorrow", "2030-13-45T00:00:00.000Z", []].map((value) =>
        refuses(
          `terms whose ${member} is ${show(value)}`,
          "license_malformed",
          () => withLicense(issuer.license({ [member]: value })),
          LAXER_EXAMPLE,
        ),
      ),
    ),
    ...["grace_hours", "borrow_hours"].flatMap((member) =>
      [true, "1", -1, [], {}].map((value) =>
        refuses(
          `terms whose ${member} is ${show(value)}`,
          "license_malformed",
          () => withLicense(issuer.license({ [member]: value })),
          LAXER_EXAMPLE,
        ),
      ),
    ),
    ...[{ kty: "EC" }, { crv: "X25519" }, { x: "AAAA" }, { x: 7 }, { x: undefined }].map((change) =>
      refuses(
        `a license whose key has ${show(change)}`,
        ["license_malformed", "lease_forged"],
        () => {
          const jwk = { ...publicPart(appliance), ...change };
          const text = issuer.license({}, { cnf: { jwk } });
          return { license: text, lease: issuer.lease(text) };
        },
        LAXER_EXAMPLE,
      ),
    ),
    ...["1e400", "-1e400", "1e308", "18446744073709551617", "-1", "9".repeat(5_000)].flatMap(
      (number) =>
        ["exp", "iat", "license_id", "serial"].map((member) => {
          const pattern = new RegExp(`"${member}":\\d+`);
          const digits = number.length > 20 ? `a number of ${number.length} digits` : number;
          return refuses(`a lease whose ${member} is ${digits}`, "lease_malformed", () =>
            signLease(leaseText().replace(pattern, `"${member}":${number}`)),
          );
        }),
    ),
    ...['"sub":"eve"', '"\\u0073ub":"eve"', '"exp":1', '"later":1,"later":2'].map((member) =>
      refuses(
        `a lease that also contains ${member}`,
        "lease_malformed",
        () => signLease(leaseText().replace(/\}$/, `,${member}}`)),
        LAXER_EXAMPLE,
      ),
    ),
    refuses(
      "a lease whose header has alg twice",
      BAD_LEASE,
      () => {
        const header = JSON.stringify(leaseHeader).replace("{", '{"alg":"none",');
        return signLease(leaseText(), header);
      },
      LAXER_EXAMPLE,
    ),
    refuses(
      "a license with a member twice",
      "license_malformed",
      () => signLicense(licenseText().replace(/\}$/, ',"serial":1}')),
      LAXER_EXAMPLE,
    ),
    refuses(
      "terms with a member twice",
      "license_malformed",
      () => signLicense(licenseText().replace('"terms":{', '"terms":{"enabled":false,')),
      LAXER_EXAMPLE,
    ),
    refuses(
      "a license whose header has typ twice",
      BAD_LICENSE,
      () => signLicense(licenseText(), JSON.stringify(licenseHeader).replace("{", '{"typ":"x",')),
      LAXER_EXAMPLE,
    ),
    ...Object.entries(BYTES).map(([title, bytes]) =>
      refuses(
        `a lease with ${title} in a name`,
        "lease_malformed",
        () => signLease(insertBytes(leaseText(), "workstation", bytes)),
        LAXER_EXAMPLE,
      ),
    ),
    refuses("a lease with a control character in a name", "lease_malformed", () =>
      signLease(leaseText().replace("workstation", "work\nstation")),
    ),
    ...["", "null", "[]", '"text"', "7", "{", '{"sub":}', "{} {}", "{'sub':1}", "\ufeff{}"].map(
      (payload) =>
        refuses(`a lease whose payload is ${payload || "empty"}`, "lease_malformed", () =>
          signLease(payload),
        ),
    ),
    ...["", "null", "[]", "7", "{", "{} {}"].map((payload) =>
      refuses(`a license whose payload is ${payload || "empty"}`, "license_malformed", () =>
        signLicense(payload),
      ),
    ),
    ...["", "null", "[]", "7", "{"].flatMap((header) => [
      refuses(`a lease whose header is ${header || "empty"}`, BAD_LEASE, () =>
        signLease(leaseText(), header),
      ),
      refuses(`a license whose header is ${header || "empty"}`, BAD_LICENSE, () =>
        signLicense(licenseText(), header),
      ),
    ]),
    refuses(
      "a lease with lists in lists, 100,000 deep",
      "lease_malformed",
      () => signLease(leaseText().replace(/\}$/, `,"later":${deep}}`)),
      LAXER_EXAMPLE,
    ),
    refuses(
      "a license with lists in lists, 100,000 deep",
      "license_malformed",
      () => signLicense(licenseText().replace(/\}$/, `,"later":${deep}}`)),
      LAXER_EXAMPLE,
    ),
    accepts(`a lease of ${MAX_DOCUMENT} characters`, () => leaseOfLength(MAX_DOCUMENT)),
    refuses(`a lease of ${MAX_DOCUMENT + 1} characters`, "lease_malformed", () =>
      leaseOfLength(MAX_DOCUMENT + 1),
    ),
    accepts(`a license of ${MAX_DOCUMENT} characters`, () => licenseOfLength(MAX_DOCUMENT)),
    refuses(`a license of ${MAX_DOCUMENT + 1} characters`, "license_malformed", () =>
      licenseOfLength(MAX_DOCUMENT + 1),
    ),
    accepts(`a lease with an object of ${MAX_MEMBERS} members`, () =>
      leaseUnder(issuer, {}, { later: manyMembers(MAX_MEMBERS) }),
    ),
    refuses(
      `a lease with an object of ${MAX_MEMBERS + 1} members`,
      "lease_malformed",
      () => leaseUnder(issuer, {}, { later: manyMembers(MAX_MEMBERS + 1) }),
      LAXER_EXAMPLE,
    ),
    accepts(`a license with ${MAX_MEMBERS} objects of two members`, () =>
      leaseUnder(issuer, { later: Array(MAX_MEMBERS).fill(manyMembers(2)) }),
    ),
    accepts(`a license with an object of ${MAX_MEMBERS} members`, () =>
      leaseUnder(issuer, { later: manyMembers(MAX_MEMBERS) }),
    ),
    refuses(
      `a license with an object of ${MAX_MEMBERS + 1} members`,
      "license_malformed",
      () => leaseUnder(issuer, { later: manyMembers(MAX_MEMBERS + 1) }),
      LAXER_EXAMPLE,
    ),
    accepts("a lease and a license with white space in their JSON", () => {
      const content = JSON.stringify(issuer.licensePayload(), null, 2);
      const text = signJwt(licenseHeader, content, issuingKey);
      const payload = JSON.stringify(issuer.leasePayload(text), null, "\t");
      return { license: text, lease: signJwt(leaseHeader, payload, appliance) };
    }),
  ];
}

function insertBytes(text: string, after: string, bytes: readonly number[]): Uint8Array {
  const at = text.indexOf(after) + after.length;
  return Buffer.concat([
    Buffer.from(text.slice(0, at)),
    Buffer.from(bytes),
    Buffer.from(text.slice(at)),
  ]);
}
