import type { FeatureTerms, Terms } from "../domain/terms.ts";

const plainFeature = { metadata: null, expires: null, floating: null, consumption: null };

const features: readonly FeatureTerms[] = [
  { ...plainFeature, code: "RENDER", name: "Render", floating: { slots: 2, timeoutMinutes: 15 } },
  {
    ...plainFeature,
    code: "EXPORT",
    name: "Export",
    consumption: { max: 50, overages: 0, negative: false, period: null },
  },
];

/** Enough of everything to try every call once. */
export const demoTerms = (product: string): Terms => ({
  product,
  productName: `${product} (demo)`,
  licenseKey: null,
  type: "consumption",
  customer: null,
  metadata: null,
  trial: true,
  enabled: true,
  start: null,
  validUntil: null,
  maintenanceUntil: null,
  graceHours: null,
  slots: 5,
  timeoutMinutes: 15,
  borrowHours: 8_760,
  earlyReturn: true,
  consumption: { max: 100, overages: 10, negative: false, period: null },
  features,
});

/** 48 bits of the product code: the same product has the same license on every start. */
export const demoLicenseId = (product: string): number =>
  Number.parseInt(new Bun.CryptoHasher("sha256").update(product).digest("hex").slice(0, 12), 16);
