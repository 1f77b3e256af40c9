import {
  compactDecrypt,
  CompactEncrypt,
  decodeProtectedHeader,
  exportJWK,
  generateKeyPair,
  generateSecret,
} from "jose";
import { Type, type Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** An X25519 key: `x` is the public part, `d` the secret; both base64url. */
export interface ExchangeKey {
  readonly x: string;
  readonly d: string;
}

const OKP = { kty: "OKP", crv: "X25519" } as const;
const AGREEMENT = "ECDH-ES";
const CIPHER = "A256GCM";

export async function generateExchangeKey(): Promise<ExchangeKey> {
  const { privateKey } = await generateKeyPair(AGREEMENT, { crv: OKP.crv, extractable: true });
  const { x = "", d = "" } = await exportJWK(privateKey);
  return { x, d };
}

/** Whether something can be encrypted to this public key: not to one of low order. */
export const isUsableKey = (publicKey: string): Promise<boolean> =>
  encryptTo(publicKey, {}, {}).then(
    () => true,
    () => false,
  );

const ExchangedKey = Type.String({ pattern: "^[A-Za-z0-9_-]{43}$" });

/** The protected header of the first JWE: it is not encrypted, but cannot be changed either. */
const AdmissionHeader = Type.Object(
  {
    alg: Type.Literal(AGREEMENT),
    enc: Type.Literal(CIPHER),
    berth_pair_admission: Type.Literal(2),
    host: Type.String(),
    version: Type.String(),
    /** By the clock of the host that admits, in milliseconds since 1970. */
    made_at: Type.Integer({ minimum: 0 }),
    appliance: Type.String(),
    /** The public key of the host that is admitted. */
    kid: ExchangedKey,
    /** The public key with which the file was encrypted; new in each file. */
    epk: Type.Object({
      kty: Type.Literal(OKP.kty),
      crv: Type.Literal(OKP.crv),
      x: ExchangedKey,
    }),
  },
  { additionalProperties: false },
);

export type AdmissionHeader = Static<typeof AdmissionHeader>;

/** Of whom an admission is, and for whom. */
export type AdmissionFacts = Pick<
  AdmissionHeader,
  "host" | "version" | "made_at" | "appliance" | "kid"
>;

const AdmissionContent = Type.Object({
  /** Encrypts the parts of the files. Only the host that is admitted can read it. */
  key: Type.Object({ kty: Type.Literal("oct"), k: ExchangedKey }),
  files: Type.Array(Type.Object({ name: Type.String(), size: Type.Integer({ minimum: 0 }) })),
});

/** What the first JWE of an admission has. The other JWEs have the files, in this order. */
export type AdmissionContent = Static<typeof AdmissionContent>;

export type PartKey = AdmissionContent["key"];

/** The first JWE of an admission, and the key of its parts. */
export async function encryptContent(
  facts: AdmissionFacts,
  files: AdmissionContent["files"],
): Promise<{ readonly jwe: string; readonly key: PartKey }> {
  const { k = "" } = await exportJWK(await generateSecret(CIPHER, { extractable: true }));
  const key = { kty: "oct", k } as const;
  const content: AdmissionContent = { key, files };
  const jwe = await encryptTo(facts.kid, { berth_pair_admission: 2, ...facts }, content);
  return { jwe, key };
}

const encryptTo = (publicKey: string, header: object, content: object): Promise<string> =>
  new CompactEncrypt(Buffer.from(JSON.stringify(content)))
    .setProtectedHeader({ alg: AGREEMENT, enc: CIPHER, ...header })
    .encrypt({ ...OKP, x: publicKey });

/** Null: not the first JWE of an admission. */
export function readAdmissionHeader(jwe: string): AdmissionHeader | null {
  try {
    const header = decodeProtectedHeader(jwe);
    return Value.Check(AdmissionHeader, header) ? header : null;
  } catch {
    return null;
  }
}

/** Null: it was changed, or is for another key. */
export async function decryptContent(
  jwe: string,
  key: ExchangeKey,
): Promise<AdmissionContent | null> {
  if (readAdmissionHeader(jwe) === null) return null;
  try {
    const { plaintext } = await compactDecrypt(jwe, { ...OKP, ...key });
    const content: unknown = JSON.parse(
      new TextDecoder("utf-8", { fatal: true }).decode(plaintext),
    );
    return Value.Check(AdmissionContent, content) ? content : null;
  } catch {
    return null;
  }
}

const DIRECT = { alg: "dir", enc: CIPHER } as const;

/** The number is in the protected header, so that no part can be left out, repeated or moved. */
export const encryptPart = (key: PartKey, number: number, plain: Uint8Array): Promise<string> =>
  new CompactEncrypt(plain).setProtectedHeader({ ...DIRECT, part: number }).encrypt(key);

/** Null: the part was changed, is of another admission, or is not at this position. */
export async function decryptPart(
  key: PartKey,
  number: number,
  jwe: string,
): Promise<Uint8Array | null> {
  try {
    const { plaintext, protectedHeader } = await compactDecrypt(jwe, key, {
      keyManagementAlgorithms: [DIRECT.alg],
      contentEncryptionAlgorithms: [DIRECT.enc],
    });
    return protectedHeader["part"] === number ? plaintext : null;
  } catch {
    return null;
  }
}
