// What a verifier that trusts the test vendor says of each license in `documents`.

/** Why Berth refuses a document. */
type Wrong = "form" | "kind" | "certificate" | "signer" | "signature" | "content";

export interface Verdict {
  /** The file, without its ending. */
  readonly name: string;
  /** Null: it is accepted. */
  readonly wrong: Wrong | null;
  /** Whether its bare signature is valid with the issuing key of the test vendor. */
  readonly isSigned: boolean;
  /** Whether the check of the guide accepts it, which uses a JWT library and no schema. */
  readonly isAcceptedByLibrary: boolean;
}

const good = (name: string): Verdict => ({
  name: `good-license${name}`,
  wrong: null,
  isSigned: true,
  isAcceptedByLibrary: true,
});

type Options = Partial<Pick<Verdict, "isSigned" | "isAcceptedByLibrary">>;

const bad = (name: string, wrong: Wrong, options: Options = {}): Verdict => ({
  name: `bad-${name}`,
  wrong,
  isSigned: true,
  isAcceptedByLibrary: false,
  ...options,
});

const UNSIGNED = { isSigned: false } as const;
/** Only who has the root or the issuing key can make such a license, and can make a good one too. */
const ACCEPTED = { isAcceptedByLibrary: true } as const;

export const GOOD_LICENSES: readonly Verdict[] = [
  good(""),
  good("-key-ended"),
  good("-key-of-2100"),
  good("-cert-of-1024-characters"),
  good("-cert-header-order"),
  good("-cert-jwk-unknown-member"),
];

/** Signed by a key that the vendor retired: verifiers without that knowledge accept it. */
export const RETIRED_LICENSE = "retired-license";

export const BAD_LICENSES: readonly Verdict[] = [
  bad("alg-none", "form", UNSIGNED),
  bad("alg-none-signed", "form"),
  bad("alg-hs256-public-key", "form", UNSIGNED),
  bad("alg-ed25519", "form"),
  bad("typ-jwt", "form"),
  bad("typ-policy", "kind"),
  bad("crit", "form"),
  bad("jwk", "form", UNSIGNED),
  bad("no-kid", "form", ACCEPTED),
  bad("kid-not-text", "form", ACCEPTED),
  bad("other-key", "signature", UNSIGNED),
  bad("moved-signature", "signature", UNSIGNED),
  bad("signature-spelling", "form", ACCEPTED),
  bad("signature-zero", "signature", UNSIGNED),
  bad("signature-plus-order", "signature", UNSIGNED),
  bad("two-parts", "form", UNSIGNED),
  bad("four-parts", "form"),
  bad("padding", "form", ACCEPTED),
  bad("line-break", "form", ACCEPTED),
  bad("part-of-one-character", "form", UNSIGNED),
  bad("payload-not-utf8", "signature"),
  bad("payload-not-json", "signature"),
  bad("no-cert", "form"),
  bad("cert-twice", "form", ACCEPTED),
  bad("cert-not-text", "form"),
  bad("header-order", "form", ACCEPTED),
  bad("header-white-space", "form", ACCEPTED),
  bad("header-unknown-member", "form", ACCEPTED),
  bad("kid-of-root", "certificate", ACCEPTED),
  bad("other-iss", "content"),
  bad("cert-of-other-vendor", "signer"),
  bad("cert-signed-by-other-root", "certificate"),
  bad("cert-signed-by-issuing-key", "certificate"),
  bad("cert-of-other-type", "form"),
  bad("cert-other-kid", "signer", ACCEPTED),
  bad("cert-header-unknown-member", "form", ACCEPTED),
  bad("cert-crit", "form"),
  bad("cert-spelling", "form", ACCEPTED),
  bad("cert-of-1025-characters", "form", ACCEPTED),
  bad("cert-of-other-key", "certificate"),
  bad("cert-of-root", "certificate", UNSIGNED),
  bad("cert-of-low-order-key", "certificate", { ...UNSIGNED, ...ACCEPTED }),
  bad("cert-exp", "certificate", ACCEPTED),
  bad("cert-nbf", "certificate", ACCEPTED),
  bad("cert-no-trust", "certificate", ACCEPTED),
  bad("cert-trust-0", "certificate", ACCEPTED),
  bad("cert-ends-as-it-begins", "certificate", ACCEPTED),
  bad("cert-parts-of-a-second", "certificate", ACCEPTED),
  bad("cert-cnf-unknown-member", "certificate", ACCEPTED),
  bad("cert-unknown-member", "certificate", ACCEPTED),
  bad("cert-other-iss", "certificate"),
];
