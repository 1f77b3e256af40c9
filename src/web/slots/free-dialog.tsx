import { admin, done } from "../api.ts";
import { Answers } from "../parts/answers.tsx";
import { Command } from "../parts/command.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts } from "../parts/facts.tsx";
import { frame } from "../texts/frame.ts";
import { slots } from "../texts/slots.ts";
import { forget } from "./reading.ts";
import { releaseCommand } from "./release-command.ts";
import { minute, type Row } from "./rows.ts";

interface Props {
  readonly row: Row;
  readonly onClose: () => void;
  readonly onFreed: (said: string) => void;
}

/** All there is to know of one slot, and what taking it back would mean. */
export function FreeDialog({ row, onClose, onFreed }: Props) {
  const { dialog } = slots;
  const { user, product, license_id } = row.held;
  const free = async (): Promise<void> => {
    await done(admin.registrations.release.post({ user, product, license_id: String(license_id) }));
    forget(row);
    onFreed(dialog.freed(user, product));
    onClose();
  };
  return (
    <Dialog title={dialog.title} onClose={onClose}>
      <Facts as="tiles" facts={factsOf(row)} />
      <p>{row.isBorrowed ? dialog.borrowed(minute(row.until)) : dialog.renewed}</p>
      <Answers act={dialog.confirm} kind="danger" onAct={free} onCancel={onClose} />
      <p class="hint">{frame.onTerminal}</p>
      <Command text={releaseCommand(user, product)} />
    </Dialog>
  );
}

function factsOf({ held, until, isBorrowed }: Row): readonly (readonly [string, string])[] {
  const { columns, dialog } = slots;
  const facts = [
    [columns.user, held.user],
    [columns.product, held.product],
    [columns.host, held.os_hostname],
    [dialog.localAddress, held.ip_local],
    [dialog.peer, held.peer],
    [columns.since, minute(held.registered_at)],
    [columns.until, isBorrowed ? `${minute(until)}, ${slots.borrowed}` : minute(until)],
    [columns.features, held.features.join(", ")],
    [columns.info, held.user_info],
  ] as const;
  return facts.filter(([, value]) => value !== "");
}
