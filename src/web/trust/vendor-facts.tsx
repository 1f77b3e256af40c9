import type { VendorReply } from "../../http/routes/trust/trust.ts";
import { Facts, type Fact } from "../parts/facts.tsx";
import { trust } from "./trust-texts.ts";

interface Props {
  readonly vendor: VendorReply;
  /** Also shows the version of the trust file. */
  readonly hasFileRow?: boolean;
}

/** Name, products and fingerprint of a vendor. */
export function VendorFacts({ vendor, hasFileRow = false }: Props) {
  const { name, products, fingerprint, version, vendor: id, retired } = vendor;
  const facts: readonly Fact[] = [
    [trust.name, name],
    [trust.products, products.join(", ") || trust.noProducts],
    [trust.fingerprint, <code class="fingerprint">{fingerprint}</code>],
    ...retired.map((key) => [trust.retired, key] as const),
    ...(hasFileRow ? [[trust.file, trust.version(version, id)] as const] : []),
  ];
  return <Facts as="lines" facts={facts} />;
}
