import { admin, unwrapReply } from "../api.ts";
import { DialogActions } from "../parts/dialog-actions.tsx";
import { Command } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { frame } from "../texts/frame.ts";
import { slots } from "../texts/slots.ts";
import { removeRow } from "./slot-data.ts";
import { releaseCommand } from "./release-command.ts";
import { formatMinute, type SlotRow } from "./rows.ts";

interface Props {
  readonly row: SlotRow;
  readonly onClose: () => void;
  readonly onReleased: (message: string) => void;
}

/** The details of one slot, and the consequences of releasing it. */
export function ReleaseDialog({ row, onClose, onReleased }: Props) {
  const { dialog } = slots;
  const { user, product, license_id } = row.registration;
  const release = async (): Promise<void> => {
    await unwrapReply(
      admin.registrations.release.post({ user, product, license_id: String(license_id) }),
    );
    removeRow(row);
    onReleased(dialog.released(user, product));
    onClose();
  };
  return (
    <Dialog title={dialog.title} onClose={onClose}>
      <Facts as="tiles" facts={factsOf(row)} />
      <p>{row.isBorrowed ? dialog.borrowed(formatMinute(row.until)) : dialog.notBorrowed}</p>
      <DialogActions
        actionLabel={dialog.confirm}
        kind="danger"
        onConfirm={release}
        onCancel={onClose}
      />
      <p class="hint">{frame.cliCommands}</p>
      <Command text={releaseCommand(user, product)} />
    </Dialog>
  );
}

function factsOf({
  registration,
  until,
  isBorrowed,
}: SlotRow): readonly (readonly [string, string])[] {
  const { columns, dialog } = slots;
  const facts = [
    [columns.user, registration.user],
    [columns.product, registration.product],
    [columns.host, registration.os_hostname],
    [dialog.localAddress, registration.ip_local],
    [dialog.peer, registration.peer],
    [columns.since, formatMinute(registration.registered_at)],
    [columns.until, isBorrowed ? `${formatMinute(until)}, ${slots.borrowed}` : formatMinute(until)],
    [columns.features, registration.features.join(", ")],
    [columns.info, registration.user_info],
  ] as const;
  return facts.filter(([, value]) => value !== "");
}
