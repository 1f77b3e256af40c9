import type { VendorReply } from "../../http/routes/trust.ts";
import { admin, done } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Command } from "../parts/command.tsx";
import { frame } from "../texts/frame.ts";
import { trusting } from "../texts/trust.ts";
import type { Offered } from "./offered.ts";
import { VendorFacts } from "./vendor-facts.tsx";

interface Props {
  readonly offered: Offered;
  readonly onTrusted: (vendor: VendorReply) => Promise<void>;
  readonly onCancel: () => void;
}

/** A vendor is accepted by a person who compared the fingerprint, never by a file alone. */
export function TrustOffer({ offered, onTrusted, onCancel }: Props) {
  const { document, vendor, isKnown } = offered;
  const accept = async (): Promise<void> =>
    onTrusted(await done(admin.trust.add.post({ license: document })));
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
