/** 52 bits from the vendor's key and the license key: the same in every policy of that vendor. */
export function deriveAirgapLicenseId(
  vendorKey: Uint8Array<ArrayBuffer>,
  licenseKey: string,
): number {
  const hash = new Bun.CryptoHasher("sha256");
  hash.update(vendorKey);
  hash.update(licenseKey.normalize("NFC"));
  return Number.parseInt(hash.digest("hex").slice(0, 13), 16);
}
