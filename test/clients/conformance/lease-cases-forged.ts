// Leases and licenses that were signed with another key, edited, or issued for another device,
// license or appliance.
import { createHmac } from "node:crypto";
import { generateKey, publicKeyBytes, publicPart } from "../../../src/license/documents/keys.ts";
import {
  accepts,
  BAD_LEASE,
  BAD_LICENSE,
  LAXER_EXAMPLE,
  leaseUnder,
  refuses,
  type LeaseCase,
} from "./lease-cases.ts";
import { LeaseIssuer, payloadOf, signJwt, type Members } from "./lease-documents.ts";

const json = (value: Members): string => Buffer.from(JSON.stringify(value)).toString("base64url");

/** Replaces the parts of a JWT. */
function editJwt(jwt: string, edit: (parts: [string, string, string]) => readonly string[]) {
  const [header = "", payload = "", signature = ""] = jwt.split(".");
  return edit([header, payload, signature]).join(".");
}

/** The same header and signature with other claims. */
const editPayload = (jwt: string, members: Members): string =>
  editJwt(jwt, ([header, , signature]) => [
    header,
    json({ ...payloadOf(jwt), ...members }),
    signature,
  ]);

/** The order of the group of Ed25519. */
const ORDER = 2n ** 252n + 27742317777372353535851937790883648493n;

/** Adds the order of the group to S: a check that does not limit S accepts the result. */
const addOrder = (jwt: string): string =>
  editJwt(jwt, ([header, payload, signature]) => {
    const bytes = Buffer.from(signature, "base64url");
    // S is written with its lowest byte first.
    let s = ORDER;
    for (const [index, byte] of bytes.subarray(32).entries())
      s += BigInt(byte) << BigInt(8 * index);
    for (let index = 0; index < 32; index += 1) {
      bytes[32 + index] = Number((s >> BigInt(8 * index)) & 255n);
    }
    return [header, payload, bytes.toString("base64url")];
  });

/** The last character of a signature has 4 bits that no byte uses. */
const respell = (jwt: string): string => {
  const symbols = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  return jwt.slice(0, -1) + (symbols[symbols.indexOf(jwt.at(-1) ?? "") + 1] ?? "");
};

/** Signs with the public key as the secret of an HMAC, for a check that follows the header. */
function signHmac(header: Members, payload: Members, secret: Uint8Array): string {
  const text = `${json({ ...header, alg: "HS256" })}.${json(payload)}`;
  return `${text}.${createHmac("sha256", secret).update(text).digest("base64url")}`;
}

/** R is the neutral point and S is 0: under a key of small order it fits every text. */
const SMALL_ORDER_SIGNATURE = Buffer.from([1, ...new Uint8Array(63)]).toString("base64url");

/** Ways to spoil the end of a JWT. */
const ENDINGS: Readonly<Record<string, (jwt: string) => string>> = {
  "a signature without its last character": (jwt) => jwt.slice(0, -1),
  "a signature without its last four characters": (jwt) => jwt.slice(0, -4),
  "an empty signature": (jwt) => jwt.slice(0, jwt.lastIndexOf(".") + 1),
  "no signature": (jwt) => jwt.slice(0, jwt.lastIndexOf(".")),
  "one more character in the signature": (jwt) => `${jwt}A`,
  "four more characters in the signature": (jwt) => `${jwt}AAAA`,
  "padding after the signature": (jwt) => `${jwt}==`,
  "a fourth part": (jwt) => `${jwt}.AAAA`,
  "a final dot": (jwt) => `${jwt}.`,
  "a space at the end": (jwt) => `${jwt} `,
  "a line feed at the end": (jwt) => `${jwt}\n`,
  "a space at the beginning": (jwt) => ` ${jwt}`,
  "a signature whose unused bits are not zero": respell,
  "a signature with the order of the group added to S": addOrder,
};

export async function makeForgedCases(issuer: LeaseIssuer): Promise<LeaseCase[]> {
  const other = await LeaseIssuer.create();
  const { appliance, issuingKey, leaseHeader, licenseHeader } = issuer;
  const license = issuer.license();
  const both = (lease: string) => ({ license, lease });
  const lease = () => issuer.lease(license);
  const under = (text: string) => ({ license: text, lease: issuer.lease(text) });
  const withLeaseHeader = (members: Members) =>
    both(signJwt({ ...leaseHeader, ...members }, issuer.leasePayload(license), appliance));
  const withLicenseHeader = (members: Members) =>
    under(signJwt({ ...licenseHeader, ...members }, issuer.licensePayload(), issuingKey));
  const wrongHeaders: [string, Members][] = [
    ["alg none", { alg: "none" }],
    ["alg Ed25519", { alg: "Ed25519" }],
    ["alg ES256", { alg: "ES256" }],
    ["no alg", { alg: undefined }],
    ["crit", { crit: ["exp"], exp: 1 }],
    ["an empty crit", { crit: [] }],
    ["crit and an unencoded payload", { crit: ["b64"], b64: false }],
    ["typ JWT", { typ: "JWT" }],
    ["no typ", { typ: undefined }],
    ["the typ of a request", { typ: "berth-request+jwt" }],
  ];
  return [
    refuses("a lease signed with another key", "lease_forged", () =>
      both(signJwt(leaseHeader, issuer.leasePayload(license), other.appliance)),
    ),
    refuses("a lease signed with the vendor's issuing key", "lease_forged", () =>
      both(signJwt(leaseHeader, issuer.leasePayload(license), issuingKey)),
    ),
    refuses("a license signed with another key", "license_forged", () =>
      under(signJwt(licenseHeader, issuer.licensePayload(), other.issuingKey)),
    ),
    refuses("a license signed with the appliance's key", "license_forged", () =>
      under(signJwt(licenseHeader, issuer.licensePayload(), appliance)),
    ),
    refuses("a lease whose user was edited", "lease_forged", () =>
      both(editPayload(lease(), { sub: "eve" })),
    ),
    refuses("a lease whose end was edited", "lease_forged", () =>
      both(editPayload(lease(), { exp: 4_102_444_800 })),
    ),
    refuses("a license whose serial was edited", "license_forged", () =>
      under(editPayload(license, { serial: 2 })),
    ),
    refuses("a license with the key of another appliance put in", "license_forged", () => {
      const edited = editPayload(license, {
        appliance: other.applianceId,
        cnf: { jwk: publicPart(other.appliance) },
      });
      return { license: edited, lease: other.lease(edited) };
    }),
    refuses("a lease with the signature of another lease", "lease_forged", () => {
      const [, , signature = ""] = issuer.lease(license, { jti: "2" }).split(".");
      return both(editJwt(lease(), ([header, payload]) => [header, payload, signature]));
    }),
    refuses("a lease with alg none and no signature", BAD_LEASE, () =>
      both(`${json({ ...leaseHeader, alg: "none" })}.${json(issuer.leasePayload(license))}.`),
    ),
    refuses("a license with alg none and no signature", BAD_LICENSE, () =>
      under(`${json({ ...licenseHeader, alg: "none" })}.${json(issuer.licensePayload())}.`),
    ),
    refuses("a lease with an HMAC of the appliance's public key", BAD_LEASE, () =>
      both(signHmac(leaseHeader, issuer.leasePayload(license), publicKeyBytes(appliance))),
    ),
    refuses("a license with an HMAC of the issuing key's public part", BAD_LICENSE, () =>
      under(signHmac(licenseHeader, issuer.licensePayload(), publicKeyBytes(issuingKey))),
    ),
    refuses("a lease that contains the key it is signed with", BAD_LEASE, () => {
      const header = { ...leaseHeader, jwk: publicPart(other.appliance) };
      return both(signJwt(header, issuer.leasePayload(license), other.appliance));
    }),
    ...wrongHeaders.flatMap(([title, members]) => [
      refuses(`a lease with ${title}`, BAD_LEASE, () => withLeaseHeader(members)),
      refuses(`a license with ${title}`, BAD_LICENSE, () => withLicenseHeader(members)),
    ]),
    ...["application/berth-lease+jwt", "BERTH-LEASE+JWT"].map((typ) =>
      refuses(`a lease with typ ${typ}`, BAD_LEASE, () => withLeaseHeader({ typ }), LAXER_EXAMPLE),
    ),
    ...Object.entries(ENDINGS).flatMap(([title, spoil]) => [
      refuses(`a lease with ${title}`, BAD_LEASE, () => both(spoil(lease())), LAXER_EXAMPLE),
      refuses(`a license with ${title}`, BAD_LICENSE, () => under(spoil(license)), LAXER_EXAMPLE),
    ]),
    refuses("a license in place of the lease", BAD_LEASE, () => both(license)),
    refuses("a lease in place of the license", BAD_LICENSE, () => ({
      license: lease(),
      lease: lease(),
    })),
    refuses("a lease whose signature has a point of small order", "lease_forged", () =>
      both(editJwt(lease(), ([header, payload]) => [header, payload, SMALL_ORDER_SIGNATURE])),
    ),
    refuses("a license whose signature has a point of small order", "license_forged", () =>
      under(editJwt(license, ([header, payload]) => [header, payload, SMALL_ORDER_SIGNATURE])),
    ),
    refuses("a license whose signature is all zeros", "license_forged", () =>
      under(editJwt(license, ([header, payload]) => [header, payload, "A".repeat(86)])),
    ),
    ...(await makeReplayedCases(issuer, other)),
  ];
}

async function makeReplayedCases(issuer: LeaseIssuer, other: LeaseIssuer): Promise<LeaseCase[]> {
  const sameVendor = await LeaseIssuer.create(issuer.vendor);
  const license = issuer.license();
  const { leaseHeader, appliance } = issuer;
  const withHeader = (members: Members) => ({
    license,
    lease: signJwt({ ...leaseHeader, ...members }, issuer.leasePayload(license), appliance),
  });
  const newKey = await generateKey();
  return [
    refuses("a lease for another device", "other_device", () =>
      leaseUnder(issuer, {}, { nonce: "device-9876543210" }),
    ),
    refuses("a lease for no device", "other_device", () => leaseUnder(issuer, {}, { nonce: null })),
    refuses("a lease without the member nonce", "other_device", () =>
      leaseUnder(issuer, {}, { nonce: undefined }),
    ),
    refuses("a lease for a device whose name begins alike", "other_device", () =>
      leaseUnder(issuer, {}, { nonce: "device-01234567890" }),
    ),
    refuses("a lease under an older serial of the license", "other_license", () => ({
      license: issuer.license({}, { serial: 2 }),
      lease: issuer.lease(license),
    })),
    refuses("a lease under another license", "other_license", () => ({
      license: issuer.license({}, { license_id: 7 }),
      lease: issuer.lease(license),
    })),
    ...[{ license_id: 7 }, { serial: 2 }, { lic: "0".repeat(64) }].map((members) =>
      refuses(`a lease with another ${Object.keys(members).join()}`, "other_license", () =>
        leaseUnder(issuer, {}, members),
      ),
    ),
    refuses("a lease of another appliance of the vendor", "lease_forged", () => ({
      license,
      lease: sameVendor.lease(sameVendor.license()),
    })),
    refuses("a lease of another appliance that names this license", "lease_forged", () => ({
      license,
      lease: sameVendor.lease(license),
    })),
    refuses("a lease and a license of another vendor", "license_forged", () => {
      const text = other.license();
      return { license: text, lease: other.lease(text) };
    }),
    refuses("a lease whose kid is another appliance", "lease_forged", () =>
      withHeader({ kid: other.applianceId }),
    ),
    refuses("a lease whose iss is another appliance", "lease_forged", () =>
      leaseUnder(issuer, {}, { iss: other.applianceId }),
    ),
    refuses("a lease without kid", BAD_LEASE, () => withHeader({ kid: undefined })),
    refuses("a lease whose kid is a number", BAD_LEASE, () => withHeader({ kid: 7 })),
    accepts("a license under the first of two root keys", () => ({
      ...leaseUnder(issuer, {}),
      rootKeys: [issuer.rootKey, newKey.x],
    })),
    accepts("a license under the last of three root keys", () => ({
      ...leaseUnder(issuer, {}),
      rootKeys: [newKey.x, other.rootKey, issuer.rootKey],
    })),
    refuses("a license under none of two root keys", "license_forged", () => ({
      ...leaseUnder(issuer, {}),
      rootKeys: [newKey.x, other.rootKey],
    })),
  ];
}
