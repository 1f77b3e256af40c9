import type { VendorReply } from "../../http/routes/trust/trust.ts";
import { admin, unwrapReply } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Command } from "../parts/command.tsx";
import { frame } from "../parts/common-texts.ts";
import { trustPrompt } from "./trust-texts.ts";
import type { VendorOffer } from "./vendor-offer.ts";
import { VendorFacts } from "./vendor-facts.tsx";

interface Props {
  readonly offer: VendorOffer;
  readonly onTrusted: (vendor: VendorReply) => Promise<void>;
  readonly onCancel: () => void;
}

/** Asks the operator to compare the fingerprint before a vendor is trusted. */
export function TrustVendorPrompt({ offer, onTrusted, onCancel }: Props) {
  const { document, vendor } = offer;
  const accept = async (): Promise<void> =>
    onTrusted(await unwrapReply(admin.trust.add.post({ license: document })));
  return (
    <div class="trust-offer" role="group" aria-label={trustPrompt.title}>
      <h4>{trustPrompt.title}</h4>
      <VendorFacts vendor={vendor} />
      <p>{trustPrompt.text}</p>
      <div class="row">
        <Button kind="main" onClick={accept}>
          {trustPrompt.accept}
        </Button>
        <Button onClick={onCancel}>{frame.cancel}</Button>
      </div>
      <Command text={trustPrompt.command} />
    </div>
  );
}
