import { useSignal } from "@preact/signals";
import type { VendorReply } from "../../http/routes/trust/trust.ts";
import { admin, unwrapReply } from "../api.ts";
import { ConfirmButton } from "../parts/confirm-button.tsx";
import { FileDrop } from "../parts/file-drop.tsx";
import { AsyncContent } from "../parts/async-content.tsx";
import { Notice } from "../parts/notice.tsx";
import { canChange } from "../session.ts";
import { settings } from "../settings/settings-texts.ts";
import { trust } from "./trust-texts.ts";
import { readTrustDocument, type VendorOffer } from "./vendor-offer.ts";
import { TrustVendorPrompt } from "./trust-vendor-prompt.tsx";
import { VendorFacts } from "./vendor-facts.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";

/** The vendors whose licenses are accepted. */
export const Trust = () => (
  <AsyncContent load={() => unwrapReply(admin.trust.get())}>
    {(vendors, reload) => (
      <>
        <section class="card">
          <h3>{settings.sections.trust}</h3>
          <p class="muted">{trust.about}</p>
          {vendors.length === 0 && <p>{trust.none}</p>}
          <ul class="rows">
            {vendors.map((vendor) => (
              <Vendor key={vendor.vendor} vendor={vendor} reload={reload} />
            ))}
          </ul>
        </section>
        {canChange.value && (
          <section class="card">
            <h3>{trust.add}</h3>
            <AddVendor reload={reload} />
          </section>
        )}
        <CliCommands commands={trust.commands} />
      </>
    )}
  </AsyncContent>
);

function Vendor({ vendor, reload }: { vendor: VendorReply; reload: () => Promise<void> }) {
  const remove = async (): Promise<void> => {
    await unwrapReply(admin.trust.remove.post({ vendor: vendor.vendor }));
    await reload();
  };
  return (
    <li class="vendor">
      <VendorFacts vendor={vendor} hasFileRow />
      {canChange.value && (
        <ConfirmButton
          actionLabel={trust.remove.act}
          label={trust.remove.label(vendor.name)}
          title={trust.remove.title(vendor.name)}
          onConfirm={remove}
        >
          <p>{trust.remove.text}</p>
        </ConfirmButton>
      )}
    </li>
  );
}

function AddVendor({ reload }: { reload: () => Promise<void> }) {
  const vendorOffer = useSignal<VendorOffer | null>(null);
  const trustedName = useSignal("");
  const onTrusted = async ({ name }: VendorReply): Promise<void> => {
    await reload();
    trustedName.value = name;
    vendorOffer.value = null;
  };
  const readOffer = async (text: string): Promise<void> => {
    trustedName.value = "";
    const offer = await readTrustDocument(text);
    if (!offer.isAlreadyTrusted) vendorOffer.value = offer;
    // The root that is trusted signed it: there is nothing new to compare.
    else await onTrusted(await unwrapReply(admin.trust.add.post({ license: text })));
  };
  if (vendorOffer.value !== null) {
    const cancel = (): void => {
      vendorOffer.value = null;
    };
    return <TrustVendorPrompt offer={vendorOffer.value} onTrusted={onTrusted} onCancel={cancel} />;
  }
  return (
    <>
      <p>{trust.addText}</p>
      <FileDrop
        fileDescription={trust.fileDescription}
        onText={readOffer}
        takes={["trust", "qr", "text", "too-large"]}
        isMain
      />
      {trustedName.value !== "" && <Notice kind="good">{trust.accepted(trustedName.value)}</Notice>}
    </>
  );
}
