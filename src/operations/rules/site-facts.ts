import type { License, State } from "../../domain/model/state.ts";
import type { ProductFacts, SiteFacts } from "../../rules/site-findings.ts";

/** What rules are compared with: the products and features of all installed licenses. */
export const collectSiteFacts = (
  { products }: State,
  clientAuth: SiteFacts["clientAuth"],
): SiteFacts => ({
  clientAuth,
  products: new Map([...products].map(([code, licenses]) => [code, collectProduct(licenses)])),
});

function collectProduct(licenses: readonly License[]): ProductFacts {
  const features = new Map<string, number | null>();
  let slots = 0;
  for (const { terms, features: ofLicense } of licenses) {
    slots += terms.slots;
    for (const [code, feature] of ofLicense) {
      const { floating } = feature.terms;
      const before = features.get(code) ?? null;
      features.set(code, floating === null ? before : (before ?? 0) + floating.slots);
    }
  }
  return { slots, features };
}
