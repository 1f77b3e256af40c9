import type { VendorReply } from "../../http/routes/trust.ts";
import { trust } from "../texts/trust.ts";

interface Props {
  readonly vendor: VendorReply;
  /** For whoever administers: which trust file it is known by. */
  readonly withFile?: boolean;
}

/** Who a vendor is, and how one tells. */
export const VendorFacts = ({ vendor, withFile = false }: Props) => (
  <dl class="facts">
    <div>
      <dt>{trust.name}</dt>
      <dd>{vendor.name}</dd>
    </div>
    <div>
      <dt>{trust.products}</dt>
      <dd>{vendor.products.join(", ") || trust.noProducts}</dd>
    </div>
    <div>
      <dt>{trust.fingerprint}</dt>
      <dd class="fingerprint">
        <code>{vendor.fingerprint}</code>
      </dd>
    </div>
    {withFile && (
      <div>
        <dt>{trust.file}</dt>
        <dd class="quiet">{trust.version(vendor.version, vendor.vendor)}</dd>
      </div>
    )}
  </dl>
);
