import { admin, ApiError, unwrapReply } from "../api.ts";
import { berthCommand } from "../commands.ts";
import { formatNumber } from "../format.ts";
import { CliCommands } from "../parts/cli-commands.tsx";
import { DialogActions } from "../parts/dialog-actions.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Notice } from "../parts/notice.tsx";
import { COLUMN_VIEWS } from "./columns.ts";
import { releaseCommand } from "./release-command.ts";
import type { SlotRow } from "./rows.ts";
import { slotList } from "./slot-data.ts";
import { slots } from "./slots-texts.ts";

/** What a release did, for a message above the list. */
export interface ReleaseOutcome {
  readonly released: string;
  /** Empty: all slots were released. */
  readonly notReleased: readonly string[];
}

interface Props {
  readonly rows: readonly SlotRow[];
  /** The server's time in milliseconds. */
  readonly now: number;
  readonly onClose: () => void;
  readonly onReleased: (outcome: ReleaseOutcome) => void;
}

/** How many of the slots the question lists: the page stalls with thousands. */
const MAX_LISTED = 100;

/** Asks once before one or several slots are released, and says what follows. */
export function ReleaseDialog({ rows, now, onClose, onReleased }: Props) {
  const { dialog } = slots;
  const count = formatNumber(rows.length);
  const borrowed = rows.filter(({ isBorrowed }) => isBorrowed).length;
  const release = async (): Promise<void> => {
    const outcome = await releaseRows(rows);
    await slotList.refresh();
    onReleased(outcome);
    onClose();
  };
  const [only] = rows.length === 1 ? rows : [];
  return (
    <Dialog title={dialog.title(rows.length, count)} onClose={onClose}>
      <ul class="release-list" aria-label={dialog.list} tabIndex={0}>
        {rows.slice(0, MAX_LISTED).map((row) => (
          <li key={row.key}>
            <b>{row.registration.user}</b> {describeSlot(row, now)}
          </li>
        ))}
        {rows.length > MAX_LISTED && <li>{dialog.more(formatNumber(rows.length - MAX_LISTED))}</li>}
      </ul>
      <p>{dialog.consequence(rows.length)}</p>
      {borrowed > 0 && (
        <Notice kind="warn">
          {dialog.borrowed(borrowed, formatNumber(borrowed), rows.length)}
        </Notice>
      )}
      {only !== undefined && (
        <CliCommands
          commands={[
            berthCommand(releaseCommand(only.registration.user, only.registration.product)),
          ]}
        />
      )}
      <DialogActions
        actionLabel={dialog.confirm(rows.length, count)}
        kind="danger"
        onConfirm={release}
        onCancel={onClose}
      />
    </Dialog>
  );
}

const DESCRIBED = ["product", "host", "lastSeen", "borrowed"] as const;

const describeSlot = ({ registration }: SlotRow, now: number): string =>
  DESCRIBED.map((column) => {
    const text = COLUMN_VIEWS[column].text(registration, now);
    if (text === "" || column === "product" || column === "host") return text;
    return slots.card[column](text);
  })
    .filter(Boolean)
    .join(" · ");

const REFUSED = 400;

/** With the longest names, so many fit into the body of one request. */
const USERS_PER_REQUEST = 200;

/** Releases the slots license by license; a refusal of one does not affect the others. */
async function releaseRows(rows: readonly SlotRow[]): Promise<ReleaseOutcome> {
  const { dialog } = slots;
  const notReleased: string[] = [];
  let released = 0;
  for (const group of Map.groupBy(rows, licenseOf).values()) {
    for (let first = 0; first < group.length; first += USERS_PER_REQUEST) {
      const some = group.slice(first, first + USERS_PER_REQUEST);
      const { product = "", license_id = 0 } = some[0]?.registration ?? {};
      const users = some.map(({ registration }) => registration.user).join("\n");
      const body = { product, license_id: String(license_id), users };
      const reply = await unwrapReply(admin.registrations.release.users.post(body));
      released += reply.released;
      for (const { user, code, message } of reply.results) {
        if (code === null || message === null) continue;
        // The dialog stays open and says why.
        if (rows.length === 1) throw new ApiError(code, message, REFUSED);
        notReleased.push(dialog.notReleased(user, message));
      }
    }
  }
  const [only] = rows.length === 1 ? rows : [];
  return {
    released:
      only === undefined
        ? dialog.released(released, formatNumber(released))
        : dialog.releasedOne(only.registration.user, only.registration.product),
    notReleased,
  };
}

const licenseOf = ({ registration }: SlotRow): number => registration.license_id;
