import { useSignal } from "@preact/signals";
import type { VendorReply } from "../../http/routes/trust.ts";
import { admin, done } from "../api.ts";
import { Confirm } from "../parts/confirm.tsx";
import { FileDrop } from "../parts/file-drop.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { settings } from "../texts/settings.ts";
import { trust } from "../texts/trust.ts";
import { lookAtTrust, type Offered } from "../trust/offered.ts";
import { TrustOffer } from "../trust/trust-offer.tsx";
import { VendorFacts } from "../trust/vendor-facts.tsx";
import { OnTerminal } from "../parts/on-terminal.tsx";

/** Whose licenses are accepted. */
export const Trust = () => (
  <Loaded ask={() => done(admin.trust.get())}>
    {(vendors, again) => (
      <>
        <section class="card">
          <h3>{settings.sections.trust}</h3>
          <p class="quiet">{trust.about}</p>
          {vendors.length === 0 && <p>{trust.none}</p>}
          <ul class="rows">
            {vendors.map((vendor) => (
              <Vendor key={vendor.vendor} vendor={vendor} again={again} />
            ))}
          </ul>
        </section>
        <section class="card">
          <h3>{trust.add}</h3>
          <AddVendor again={again} />
        </section>
        <OnTerminal commands={trust.commands} />
      </>
    )}
  </Loaded>
);

function Vendor({ vendor, again }: { vendor: VendorReply; again: () => Promise<void> }) {
  const remove = async (): Promise<void> => {
    await done(admin.trust.remove.post({ vendor: vendor.vendor }));
    await again();
  };
  return (
    <li class="vendor">
      <VendorFacts vendor={vendor} withFile />
      <Confirm
        act={trust.remove.act}
        label={trust.remove.label(vendor.name)}
        title={trust.remove.title(vendor.name)}
        onConfirm={remove}
      >
        <p>{trust.remove.text}</p>
      </Confirm>
    </li>
  );
}

function AddVendor({ again }: { again: () => Promise<void> }) {
  const offered = useSignal<Offered | null>(null);
  const accepted = useSignal("");
  const look = async (text: string): Promise<void> => {
    accepted.value = "";
    offered.value = await lookAtTrust(text);
  };
  const accept = async ({ name }: VendorReply): Promise<void> => {
    await again();
    accepted.value = name;
    offered.value = null;
  };
  if (offered.value !== null) {
    const cancel = (): void => {
      offered.value = null;
    };
    return <TrustOffer offered={offered.value} onTrusted={accept} onCancel={cancel} />;
  }
  return (
    <>
      <p>{trust.addText}</p>
      <FileDrop what={trust.what} onText={look} />
      {accepted.value !== "" && <Notice kind="good">{trust.accepted(accepted.value)}</Notice>}
    </>
  );
}
