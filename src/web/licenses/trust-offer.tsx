import type { VendorReply } from "../../http/routes/trust.ts";
import { admin, done } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Command } from "../parts/command.tsx";
import { frame } from "../texts/frame.ts";
import { trusting } from "../texts/adding.ts";
import { readKnown, vendors } from "./known.ts";
import type { Offered } from "./take-in.ts";

interface Props {
  readonly offered: Offered;
  readonly onTrusted: (vendor: VendorReply) => void;
  readonly onCancel: () => void;
}

/** A vendor is accepted by a person who compared the fingerprint, never by a file alone. */
export function TrustOffer({ offered, onTrusted, onCancel }: Props) {
  const { document, vendor } = offered;
  const accept = async (): Promise<void> => {
    const trusted = await done(admin.trust.add.post({ license: document }));
    await readKnown();
    onTrusted(trusted);
  };
  const isKnown = vendors.value?.some((one) => one.vendor === vendor.vendor) === true;
  return (
    <div class="trust-offer" role="group" aria-label={trusting.title}>
      <h4>{trusting.title}</h4>
      {isKnown && <p>{trusting.known}</p>}
      <VendorFacts vendor={vendor} />
      <p>{trusting.text}</p>
      <div class="row">
        <Button kind="main" onClick={accept}>
          {trusting.accept}
        </Button>
        <Button onClick={onCancel}>{frame.cancel}</Button>
      </div>
      <Command text={trusting.command} />
    </div>
  );
}

export const VendorFacts = ({ vendor }: { vendor: VendorReply }) => (
  <dl class="facts">
    <div>
      <dt>{trusting.name}</dt>
      <dd>{vendor.name}</dd>
    </div>
    <div>
      <dt>{trusting.products}</dt>
      <dd>{vendor.products.length === 0 ? trusting.noProducts : vendor.products.join(", ")}</dd>
    </div>
    <div>
      <dt>{trusting.fingerprint}</dt>
      <dd class="fingerprint">
        <code>{vendor.fingerprint}</code>
      </dd>
    </div>
  </dl>
);
