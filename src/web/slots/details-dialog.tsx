import { linkTo } from "../router.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts, type Fact } from "../parts/facts.tsx";
import { Time, TimeZoneNote } from "../parts/time.tsx";
import { explainParams } from "../rules/explain-address.ts";
import { COLUMN_VIEWS } from "./columns.ts";
import type { SlotRow } from "./rows.ts";
import { slots } from "./slots-texts.ts";

interface Props {
  readonly row: SlotRow;
  readonly now: number;
  /** Null: this page may not change anything. */
  readonly onRelease: ((row: SlotRow) => void) | null;
  readonly onClose: () => void;
}

/** Everything that is known of one slot, in full. */
export function DetailsDialog({ row, now, onRelease, onClose }: Props) {
  const { user, product, os_hostname: host, peer } = row.registration;
  // On the admin plane, the name of a credential is before the address.
  const from = peer.slice(peer.lastIndexOf("@") + 1);
  const caller = explainParams({ user, host, from, product });
  return (
    <Dialog title={slots.detailsLabel(user, product)} onClose={onClose}>
      <Facts as="lines" facts={factsOf(row, now)} />
      <TimeZoneNote />
      <p>
        <a href={linkTo("audit", `user=${user}`)}>{slots.detailsDialog.history}</a>
      </p>
      <p>
        <a href={linkTo("rules", ...caller)}>{slots.detailsDialog.explain}</a>
      </p>
      <div class="row actions">
        <Button onClick={onClose}>{slots.detailsDialog.close}</Button>
        {onRelease !== null && (
          <Button kind="danger" onClick={() => onRelease(row)}>
            {slots.release}
          </Button>
        )}
      </div>
    </Dialog>
  );
}

function factsOf({ registration }: SlotRow, now: number): readonly Fact[] {
  const { columns, detailsDialog } = slots;
  const textOf = (column: keyof typeof columns): string =>
    COLUMN_VIEWS[column].text(registration, now);
  const { borrowed_until } = registration;
  const facts: readonly Fact[] = [
    [columns.user, registration.user],
    [columns.product, registration.product],
    [detailsDialog.license, String(registration.license_id)],
    [columns.host, registration.os_hostname],
    [detailsDialog.peer, registration.peer],
    [detailsDialog.localAddress, registration.ip_local],
    [
      columns.lastSeen,
      <>
        {textOf("lastSeen")} (<Time at={registration.last_seen_at} />)
      </>,
    ],
    [detailsDialog.since, <Time at={registration.registered_at} />],
    [columns.duration, textOf("duration")],
    [detailsDialog.expires, <Time at={registration.expires_at} />],
    [columns.borrowed, borrowed_until === null ? "" : <Time at={borrowed_until} />],
    [columns.features, textOf("features")],
    [columns.home, textOf("home")],
    [columns.info, registration.user_info],
  ];
  return facts.filter(([, value]) => value !== "");
}
