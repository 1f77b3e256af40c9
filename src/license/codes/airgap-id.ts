/** 52 bits from the vendor's root and the license key: the same in every policy of that vendor. */
export function deriveAirgapLicenseId(root: Uint8Array<ArrayBuffer>, licenseKey: string): number {
  const hash = new Bun.CryptoHasher("sha256");
  hash.update(root);
  hash.update(licenseKey.normalize("NFC"));
  return Number.parseInt(hash.digest("hex").slice(0, 13), 16);
}
