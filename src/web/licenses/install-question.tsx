import { formatEnd, formatNumber } from "../format.ts";
import { DialogActions } from "../parts/dialog-actions.tsx";
import { Facts } from "../parts/facts.tsx";
import type { LicenseClaims } from "./documents.ts";
import { licenses } from "./license-data.ts";
import { pageDrop as texts } from "./page-drop-texts.ts";

interface Props {
  /** Null: the file does not tell. */
  readonly claims: LicenseClaims | null;
  readonly onConfirm: () => Promise<unknown>;
  readonly onCancel: () => void;
}

/** The content of a dialog that asks before a license is installed, and shows what it changes. */
export const InstallQuestion = ({ claims, onConfirm, onCancel }: Props) => (
  <>
    {claims !== null && <Claims claims={claims} />}
    <DialogActions
      kind="main"
      actionLabel={texts.install}
      onCancel={onCancel}
      onConfirm={onConfirm}
    />
  </>
);

const endOf = (end: string | null): string => (end === null ? texts.noExpiry : formatEnd(end));

/** What the file says, beside what is installed. */
function Claims({ claims }: { claims: LicenseClaims }) {
  const before = licenses.value?.find(({ id }) => id === claims.license_id);
  const slots = formatNumber(claims.slots);
  const until = endOf(claims.valid_until);
  const facts = [
    [texts.product, claims.product],
    [
      texts.slots,
      before === undefined ? slots : texts.changed(formatNumber(before.floating_users), slots),
    ],
    [
      texts.until,
      before === undefined ? until : texts.changed(endOf(before.validity_period), until),
    ],
  ] as const;
  return (
    <>
      <p>{before === undefined ? texts.isNew : texts.isRenewal}</p>
      <p class="muted">{texts.checking}</p>
      <Facts as="lines" facts={facts} />
    </>
  );
}
