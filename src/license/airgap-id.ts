/** 52 bits of who may license what: the same key is the same license, whatever policy it is on. */
export function deriveAirgapLicenseId(key: Uint8Array<ArrayBuffer>, licenseKey: string): number {
  const hash = new Bun.CryptoHasher("sha256");
  hash.update(key);
  hash.update(licenseKey.normalize("NFC"));
  return Number.parseInt(hash.digest("hex").slice(0, 13), 16);
}
