// Licenses that were activated by codes: the license text is a bundle instead of a JWT.
import type { Bundle } from "../../../src/license/documents/bundle.ts";
import { encodeCode, CODE_BITS } from "../../../src/license/codes/code.ts";
import { publicPart } from "../../../src/license/documents/keys.ts";
import {
  accepts,
  BAD_LICENSE,
  LAXER_EXAMPLE,
  refuses,
  type LeaseCase,
  type LeaseInput,
} from "./lease-cases.ts";
import {
  HOUR_SECONDS,
  LeaseIssuer,
  secondsFromNow,
  timeFromNow,
  type CodeOptions,
  type Members,
} from "./lease-documents.ts";

/** The limits that all clients have; in bytes, for the bundle. */
const MAX_BUNDLE = 131_072;
const MAX_MEMBERS = 256;

const DAY_SECONDS = 24 * HOUR_SECONDS;

export async function makeByCodeCases(issuer: LeaseIssuer): Promise<LeaseCase[]> {
  const other = await LeaseIssuer.create();
  const sameVendor = await LeaseIssuer.create(issuer.vendor);
  const initializationCode = encodeCode(Buffer.alloc(12, 0x21), CODE_BITS.initialization);
  const bundle = await issuer.bundle({ initializationCode });
  const lease = (members?: Members) => issuer.leaseByCode(bundle, members);
  const withBundle = (members: object): LeaseInput => ({
    license: JSON.stringify({ ...bundle, ...members }),
    lease: lease(),
  });
  const made = async (options: CodeOptions, members?: Members): Promise<LeaseInput> => {
    const text = await issuer.bundle(options);
    return { license: JSON.stringify(text), lease: issuer.leaseByCode(text, members) };
  };
  const names = Array.from({ length: MAX_MEMBERS + 1 }, (_, index) => [`name-${index}`, index]);
  /** Two bytes of each character are one unit of UTF-16. */
  const ofSize = (bytes: number): LeaseInput => {
    const { license, lease: text } = withBundle({ later: "\u00e9".repeat(1_000) });
    return { license: license + " ".repeat(bytes - Buffer.byteLength(license)), lease: text };
  };
  // The version adds nothing to the kind, and nothing else depends on it.
  const members = Object.entries(bundle).filter(([member]) => member !== "version");
  const code = bundle.confirmation_code;
  const respelled = code.replaceAll("1", "I").replaceAll("0", "O");
  return [
    accepts("a lease by code", () => withBundle({})),
    accepts("a lease by code of a weakly bound appliance", () => made({ weak: true })),
    accepts("a lease by code without an initialization code", () => made({})),
    accepts("a lease by code with a license key that is not ASCII", () =>
      made({ licenseKey: "Schlüssel-№1-日本" }),
    ),
    accepts("a bundle with white space", () => ({
      license: JSON.stringify(bundle, null, 2),
      lease: lease(),
    })),
    accepts(`a bundle of ${MAX_BUNDLE} bytes`, () => ofSize(MAX_BUNDLE)),
    refuses(
      `a bundle of ${MAX_BUNDLE + 1} bytes`,
      "license_malformed",
      () => ofSize(MAX_BUNDLE + 1),
      LAXER_EXAMPLE,
    ),
    accepts(`a bundle with an object of ${MAX_MEMBERS} members`, () =>
      withBundle({ later: Object.fromEntries(names.slice(1)) }),
    ),
    refuses(
      `a bundle with an object of ${MAX_MEMBERS + 1} members`,
      "license_malformed",
      () => withBundle({ later: Object.fromEntries(names) }),
      LAXER_EXAMPLE,
    ),
    accepts("a bundle with its members in another order", () => ({
      license: JSON.stringify(Object.fromEntries(Object.entries(bundle).toReversed())),
      lease: lease(),
    })),
    ...[
      ["in lower case", code.toLowerCase()],
      ["without dashes and line feeds", code.replaceAll(/[^0-9A-Z]/g, "")],
      ["with spaces and more dashes", code.replaceAll("-", " -- ")],
      ["with carriage returns", code.replaceAll("\n", "\r\n")],
    ].map(([title, confirmation_code]) =>
      accepts(`a confirmation code ${title}`, () => withBundle({ confirmation_code })),
    ),
    ...[
      ["with I for 1 and O for 0", respelled],
      ["with l for 1 and o for 0", respelled.toLowerCase().replaceAll("i", "l")],
    ].map(([title, confirmation_code]) =>
      accepts(`a confirmation code ${title}`, () => withBundle({ confirmation_code })),
    ),
    accepts("an initialization code in lower case without dashes", () =>
      withBundle({ initialization_code: initializationCode.toLowerCase().replaceAll("-", "") }),
    ),
    ...changedMembers(bundle, other).map(([title, members]) =>
      refuses(`a bundle with ${title}`, BAD_LICENSE, () => withBundle(members), LAXER_EXAMPLE),
    ),
    ...members.map(([member]) =>
      refuses(
        `a bundle without ${member}`,
        BAD_LICENSE,
        () => withBundle({ [member]: undefined }),
        LAXER_EXAMPLE,
      ),
    ),
    ...members.flatMap(([member, right]) =>
      [null, true, 7.5, typeof right === "number" ? String(right) : 1, [], {}].map((value) =>
        refuses(
          `a bundle whose ${member} is ${JSON.stringify(value)}`,
          BAD_LICENSE,
          () => withBundle({ [member]: value }),
          LAXER_EXAMPLE,
        ),
      ),
    ),
    refuses(
      "a bundle with a member twice",
      "license_malformed",
      () => ({
        license: JSON.stringify(bundle).replace(/\}$/, ',"license_key":"CAD-0001"}'),
        lease: lease(),
      }),
      LAXER_EXAMPLE,
    ),
    refuses("a bundle with text after it", "license_malformed", () => ({
      license: `${JSON.stringify(bundle)}x`,
      lease: lease(),
    })),
    refuses("a bundle of another vendor", "license_forged", async () => {
      const text = await other.bundle();
      return { license: JSON.stringify(text), lease: other.leaseByCode(text) };
    }),
    refuses("a lease by code of another appliance of the vendor", "lease_forged", () => ({
      license: JSON.stringify(bundle),
      lease: sameVendor.leaseByCode(bundle),
    })),
    refuses("a lease under a JWT license with a bundle", "other_license", () => ({
      license: JSON.stringify(bundle),
      lease: issuer.lease(issuer.license()),
    })),
    refuses("a lease by code under an older serial", "other_license", async () => ({
      license: JSON.stringify(await issuer.bundle({ initializationCode, serial: 4 })),
      lease: lease(),
    })),
    refuses("a lease by code for another device", "other_device", () => ({
      license: JSON.stringify(bundle),
      lease: lease({ nonce: "device-9876543210" }),
    })),
    accepts("a code that ends after the lease", () => made({ endsInDays: 2 })),
    refuses("a code that has ended", "license_ended", () =>
      made({ endsInDays: -1 }, { exp: secondsFromNow(-2 * DAY_SECONDS) }),
    ),
    accepts("a code that has ended, within the grace period", () =>
      made({ endsInDays: -1, terms: { grace_hours: 96 } }),
    ),
    refuses("a lease that outlasts the code", "lease_outlasts_license", () =>
      made({ endsInDays: 1 }, { exp: secondsFromNow(2 * DAY_SECONDS) }),
    ),
    accepts("a code that ends later than its policy", () =>
      made({ endsInDays: 9, terms: { valid_until: timeFromNow(-DAY_SECONDS) } }),
    ),
    refuses("a code without an end under a policy that has ended", "license_ended", () =>
      made({ terms: { valid_until: timeFromNow(-DAY_SECONDS) } }),
    ),
    refuses("a policy that is disabled", "license_disabled", () =>
      made({ terms: { enabled: false } }),
    ),
    refuses("a policy for another product", "other_product", () =>
      made({ terms: { product: "CAM" } }),
    ),
  ];
}

/** Each member of a bundle with another value of the same type. */
function changedMembers(bundle: Bundle, other: LeaseIssuer): [string, Members][] {
  const { confirmation_code: code, appliance_jwk } = bundle;
  const replaceSymbol = (at: number): string =>
    code.slice(0, at) + (code[at] === "A" ? "B" : "A") + code.slice(at + 1);
  return [
    ["another kind", { kind: 2 }],
    ["an unknown kind", { kind: 3 }],
    ["a kind that has the same last byte", { kind: 257 }],
    ["a changed policy", { policy: `${bundle.policy.slice(0, -4)}AAAA` }],
    ["a longer policy", { policy: `${bundle.policy}A` }],
    ["an empty policy", { policy: "" }],
    ["a changed first symbol", { confirmation_code: replaceSymbol(0) }],
    ["a changed symbol in the middle", { confirmation_code: replaceSymbol(61) }],
    ["a code without its last symbol", { confirmation_code: code.slice(0, -1) }],
    ["a code with one more symbol", { confirmation_code: `${code}0` }],
    ["a code with U for V", { confirmation_code: `U${code.slice(1)}` }],
    ["an empty code", { confirmation_code: "" }],
    ["a code of 1 MiB", { confirmation_code: "0".repeat(1_048_576) }],
    ["another license key", { license_key: "CAD-0002" }],
    ["a license key with another case", { license_key: "cad-0001" }],
    ["another appliance ID", { appliance_id: other.applianceId }],
    ["a short appliance ID", { appliance_id: bundle.appliance_id.slice(1) }],
    ["another hardware prefix", { hardware_prefix: "00112233fe" }],
    ["a short hardware prefix", { hardware_prefix: "00112233f" }],
    ["a hardware prefix that is not hex", { hardware_prefix: "00112233fg" }],
    ["another nonce", { nonce: "0000000000" }],
    ["an empty nonce", { nonce: "" }],
    ["another initialization code", { initialization_code: "22222" }],
    ["an empty initialization code", { initialization_code: "" }],
    ["another appliance's key", { appliance_jwk: publicPart(other.appliance) }],
    ["another type of key", { appliance_jwk: { ...appliance_jwk, kty: "EC" } }],
    ["another curve", { appliance_jwk: { ...appliance_jwk, crv: "X25519" } }],
    ["a short key", { appliance_jwk: { ...appliance_jwk, x: "AAAA" } }],
  ];
}
