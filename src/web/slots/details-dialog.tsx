import type { RegistrationReply } from "../../http/routes/slots/registrations.ts";
import { linkTo } from "../router.ts";
import { Button } from "../parts/button.tsx";
import { Dialog } from "../parts/dialog.tsx";
import { Facts, type Fact } from "../parts/facts.tsx";
import { Time, TimeZoneNote } from "../parts/time.tsx";
import { explainParams } from "../rules/explain-address.ts";
import { COLUMN_OF_FIELD, COLUMN_VIEWS } from "./columns.ts";
import type { SlotRow } from "./rows.ts";
import { slots } from "./slots-texts.ts";

const { columns, detailsDialog } = slots;

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
      <Facts as="lines" facts={factsOf(row.registration, now)} />
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

type Field = keyof typeof COLUMN_OF_FIELD;

type DescribeField = (registration: RegistrationReply, now: number) => readonly Fact[];

/**
 * What the details say of a field, if it is not the title and the text of its column. A field
 * without a column and without a line here does not compile.
 */
const DETAILS: {
  readonly [F in Field as (typeof COLUMN_OF_FIELD)[F] extends null ? F : never]: DescribeField;
} & { readonly [F in Field]?: DescribeField } = {
  license_id: ({ license_id }) => [[detailsDialog.license, String(license_id)]],
  peer: ({ peer }) => [[detailsDialog.peer, peer]],
  ip_local: ({ ip_local }) => [[detailsDialog.localAddress, ip_local]],
  last_seen_at: (registration, now) => [
    [
      columns.lastSeen,
      <>
        {COLUMN_VIEWS.lastSeen.text(registration, now)} (<Time at={registration.last_seen_at} />)
      </>,
    ],
  ],
  registered_at: (registration, now) => [
    [detailsDialog.since, <Time at={registration.registered_at} />],
    [columns.duration, COLUMN_VIEWS.duration.text(registration, now)],
  ],
  expires_at: ({ expires_at }) => [[detailsDialog.expires, <Time at={expires_at} />]],
  borrowed_until: ({ borrowed_until }) => [
    [columns.borrowed, borrowed_until === null ? "" : <Time at={borrowed_until} />],
  ],
};

const FIELDS = Object.keys(COLUMN_OF_FIELD) as Field[];

/** All fields that are not empty. */
const factsOf = (registration: RegistrationReply, now: number): readonly Fact[] =>
  FIELDS.flatMap((field): readonly Fact[] => {
    const column = COLUMN_OF_FIELD[field];
    const describe = DETAILS[field];
    if (describe !== undefined) return describe(registration, now);
    return column === null ? [] : [[columns[column], COLUMN_VIEWS[column].text(registration, now)]];
  }).filter(([, value]) => value !== "");
