import { admin, unwrapReply } from "../api.ts";
import { DialogActions } from "../parts/dialog-actions.tsx";
import { Command } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { frame } from "../parts/common-texts.ts";
import { slots } from "./slots-texts.ts";
import { removeRow } from "./slot-data.ts";
import { releaseCommand } from "./release-command.ts";
import { COLUMN_VIEWS, COLUMNS, endOf, formatMinute } from "./columns.ts";
import type { SlotRow } from "./rows.ts";

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
      <p>
        {row.isBorrowed
          ? dialog.borrowed(formatMinute(endOf(row.registration)))
          : dialog.notBorrowed}
      </p>
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

function factsOf({ registration }: SlotRow): readonly (readonly [string, string])[] {
  const { columns, dialog } = slots;
  const facts = COLUMNS.flatMap((column): (readonly [string, string])[] => {
    const { text, secondLine } = COLUMN_VIEWS[column];
    const below = secondLine?.(registration) ?? null;
    const shown = text(registration);
    return column === "address"
      ? [
          [dialog.localAddress, registration.ip_local],
          [dialog.peer, registration.peer],
        ]
      : [[columns[column], below === null ? shown : `${shown}, ${below}`]];
  });
  return facts.filter(([, value]) => value !== "");
}
