import { signal, useSignal } from "@preact/signals";
import { admin, unwrapReply, ApiError } from "../api.ts";
import { formatNumber } from "../format.ts";
import { DialogActions } from "../parts/dialog-actions.tsx";
import { Button } from "../parts/button.tsx";
import { Checkbox } from "../parts/checkbox.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { Command } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { DocumentTransfer } from "../parts/document-transfer.tsx";
import { Notice } from "../parts/notice.tsx";
import { returnLicense } from "./licenses-texts.ts";
import { loadLicenseData } from "./license-data.ts";
import type { LicenseStatus } from "./license.ts";

interface ReturnReceipt {
  readonly id: number;
  readonly product: string;
  readonly text: string;
}

/** Outlives the returned license and the screen that showed it. */
const receipt = signal<ReturnReceipt | null>(null);
const isReceiptOpen = signal(false);

/** A return is permanent, so it needs a confirmation. */
export function ReturnLicense({ licenseStatus }: { licenseStatus: LicenseStatus }) {
  const isConfirming = useSignal(false);
  return (
    <section class="card">
      <h3>{returnLicense.title}</h3>
      <p>{returnLicense.text}</p>
      <Button kind="danger" onClick={() => void (isConfirming.value = true)}>
        {returnLicense.open}
      </Button>
      {isConfirming.value && (
        <ReturnDialog licenseStatus={licenseStatus} onClose={() => (isConfirming.value = false)} />
      )}
    </section>
  );
}

function ReturnDialog({
  licenseStatus,
  onClose,
}: {
  licenseStatus: LicenseStatus;
  onClose: () => void;
}) {
  const hasBorrows = useSignal(false);
  const withBorrows = useSignal(false);
  const { license_id: id, product, floating_slots_in_use: inUse } = licenseStatus;
  const returnNow = async (): Promise<void> => {
    const body = { license_id: String(id), with_borrows: String(withBorrows.value) };
    const { receipt: text } = await unwrapReply(admin.licenses.remove.post(body)).catch(
      noteBorrows,
    );
    receipt.value = { id, product, text };
    isReceiptOpen.value = true;
    void loadLicenseData();
  };
  const noteBorrows = (error: unknown): never => {
    hasBorrows.value ||= error instanceof ApiError && error.code === "slots_borrowed";
    throw error;
  };
  return (
    <Dialog title={returnLicense.confirmTitle(product)} onClose={onClose}>
      <ul>
        <li>{returnLicense.permanent}</li>
        <li>
          {inUse === 0 ? returnLicense.noSlots : returnLicense.slots(formatNumber(inUse), inUse)}
        </li>
        <li>{returnLicense.receipt}</li>
      </ul>
      {hasBorrows.value && <Checkbox label={returnLicense.borrows} value={withBorrows} />}
      <CliCommands commands={[removeCommand(id)]} />
      <DialogActions
        actionLabel={returnLicense.confirm}
        kind="danger"
        onConfirm={returnNow}
        onCancel={onClose}
      />
    </Dialog>
  );
}

const removeCommand = (id: number): string => `berth license remove ${id} --out receipt.jwt`;

/** Stays available while this page is open, so that closing it too early loses nothing. */
export function ReceiptDialog() {
  if (receipt.value === null) return null;
  const { id, product, text } = receipt.value;
  if (!isReceiptOpen.value) {
    return (
      <Notice kind="note" title={returnLicense.returned(product)}>
        <Button onClick={() => void (isReceiptOpen.value = true)}>
          {returnLicense.showReceipt}
        </Button>
      </Notice>
    );
  }
  return (
    <Dialog title={returnLicense.returned(product)} onClose={() => (isReceiptOpen.value = false)}>
      <p>{returnLicense.sendReceipt}</p>
      <DocumentTransfer text={text} filename={`berth-receipt-${id}.jwt`} />
      <p>{returnLicense.vendor}</p>
      <Command text={returnLicense.vendorCommand} />
      <p>{returnLicense.recreateReceipt}</p>
      <Command text={removeCommand(id)} />
      <div class="row actions">
        <Button kind="main" onClick={() => void (receipt.value = null)}>
          {returnLicense.finish}
        </Button>
      </div>
    </Dialog>
  );
}
