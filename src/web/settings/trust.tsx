import { useSignal } from "@preact/signals";
import type { VendorReply } from "../../http/routes/trust.ts";
import { admin, done } from "../api.ts";
import { Button } from "../parts/button.tsx";
import { Confirm } from "../parts/confirm.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { FileField } from "../parts/file-field.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { Notice } from "../parts/notice.tsx";
import { frame } from "../texts/frame.ts";
import { settings } from "../texts/settings.ts";
import { OnTerminal } from "./on-terminal.tsx";
import { readTrustFile, type TrustFile } from "./trust-file.ts";

const { trust } = settings;

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
  const { name, products, fingerprint, version } = vendor;
  const remove = async (): Promise<void> => {
    await done(admin.trust.remove.post({ vendor: vendor.vendor }));
    await again();
  };
  return (
    <li class="vendor">
      <div>
        <strong class="name">{name}</strong>
        <p>
          <span class="quiet">{trust.products}</span> {products.join(", ") || trust.everything}
        </p>
        <p>
          <span class="quiet">{trust.fingerprint}</span> <code>{fingerprint}</code>
        </p>
        <p class="quiet">
          {trust.id} <code>{vendor.vendor}</code>, {trust.version(version)}
        </p>
      </div>
      <Confirm
        act={trust.remove.act}
        label={trust.remove.label(name)}
        title={trust.remove.title(name)}
        onConfirm={remove}
      >
        <p>{trust.remove.text}</p>
      </Confirm>
    </li>
  );
}

interface Chosen extends TrustFile {
  readonly license: string;
}

function AddVendor({ again }: { again: () => Promise<void> }) {
  const chosen = useSignal<Chosen | null>(null);
  const wrong = useSignal("");
  const accepted = useSignal<VendorReply | null>(null);
  const choose = async (license: string): Promise<void> => {
    const read = await readTrustFile(license);
    accepted.value = null;
    wrong.value = read === null ? trust.notOne : "";
    chosen.value = read && { ...read, license: license.trim() };
  };
  const accept = async (license: string): Promise<void> => {
    accepted.value = await done(admin.trust.add.post({ license }));
    chosen.value = null;
    await again();
  };
  return (
    <>
      <FileField
        label={trust.file}
        hint={trust.fileHint}
        accept=".jwt,.txt"
        onText={(text) => void choose(text)}
      />
      {wrong.value !== "" && <Notice kind="bad">{wrong.value}</Notice>}
      {accepted.value !== null && (
        <Notice kind="good" title={trust.accepted(accepted.value.name)}>
          {trust.fingerprint} <code>{accepted.value.fingerprint}</code>
        </Notice>
      )}
      {chosen.value !== null && (
        <Compare {...chosen.value} onAccept={accept} onClose={() => (chosen.value = null)} />
      )}
    </>
  );
}

interface CompareProps extends Chosen {
  readonly onAccept: (license: string) => Promise<void>;
  readonly onClose: () => void;
}

/** Nothing proves who sent a first trust file but a voice one knows. */
function Compare({ name, products, fingerprint, license, onAccept, onClose }: CompareProps) {
  return (
    <Dialog title={trust.compare.title(name)} onClose={onClose}>
      <p>{fingerprint === null ? trust.compare.afterwards : trust.compare.text}</p>
      {fingerprint !== null && (
        <p class="secret">
          <code class="fingerprint">{fingerprint}</code>
        </p>
      )}
      <p>{trust.compare.products(products.join(", ") || trust.everything)}</p>
      <div class="row answers">
        <Button onClick={onClose}>{frame.cancel}</Button>
        <Button kind="main" onClick={() => onAccept(license)}>
          {trust.compare.act}
        </Button>
      </div>
    </Dialog>
  );
}
