import { formatDate, formatNumber } from "../format.ts";
import { serverStatus } from "../status-stream.ts";
import { Consumption, Validity } from "../overview/license-card.tsx";
import { Facts } from "../parts/facts.tsx";
import { Notice } from "../parts/notice.tsx";
import { SlotBar } from "../parts/slot-bar.tsx";
import { linkTo } from "../router.ts";
import { canChange } from "../session.ts";
import { licenses as texts } from "./licenses-texts.ts";
import { overview } from "../overview/overview-texts.ts";
import { reasonOf } from "../../faults/rule-reasons.ts";
import { Features } from "./features.tsx";
import { ReturnLicense } from "./return-license.tsx";
import { LicenseHistory } from "./license-history.tsx";
import { licenses, trustedVendors } from "./license-data.ts";
import type { License, LicenseStatus } from "./license.ts";
import { termsOf, type TermRows } from "./terms.ts";

/** All details of one license. */
export function LicenseDetail({ id }: { id: number }) {
  const { value: status } = serverStatus;
  const licenseStatus = status?.licenses.find(({ license_id }) => license_id === id);
  const license = licenses.value?.find(({ id: licenseId }) => licenseId === id);
  // A license that was just installed can be in the status before it is in the list.
  const isLoading = licenseStatus !== undefined && license === undefined;
  if (status === null || licenses.value === null || isLoading) return null;
  return (
    <>
      <p class="back-link">
        <a href={linkTo("licenses")}>← {texts.back}</a>
      </p>
      {licenseStatus === undefined || license === undefined ? (
        <>
          <h2>{texts.title}</h2>
          <p class="card">{texts.notInstalled}</p>
        </>
      ) : (
        <LicenseDetailContent license={license} licenseStatus={licenseStatus} now={status.now} />
      )}
    </>
  );
}

interface Props {
  readonly license: License;
  readonly licenseStatus: LicenseStatus;
  readonly now: string;
}

function LicenseDetailContent({ license, licenseStatus, now }: Props) {
  return (
    <>
      <h2>{license.product_details.product_name}</h2>
      {licenseStatus.refusal !== null && (
        <Notice kind="bad">
          <p>{texts.refusal(reasonOf(licenseStatus.refusal))}</p>
          {canChange.value && (
            <a href={linkTo("licenses", "request", licenseStatus.product)}>{texts.renew}</a>
          )}
        </Notice>
      )}
      <div class="one-license">
        <div class="stack">
          <SlotUsage licenseStatus={licenseStatus} license={license} now={now} />
          <section class="card">
            <h3>{texts.terms}</h3>
            <Facts as="lines" facts={termsOf(license)} />
          </section>
          <Features features={license.product_features} />
        </div>
        <div class="stack">
          <section class="card">
            <h3>{texts.origin}</h3>
            <Facts as="lines" facts={originRowsOf(licenseStatus)} />
          </section>
          <LicenseHistory id={license.id} serial={licenseStatus.serial} />
          {canChange.value && <ReturnLicense licenseStatus={licenseStatus} />}
        </div>
      </div>
    </>
  );
}

function SlotUsage({ licenseStatus, license, now }: Props) {
  const { floating_users: all, floating_slots_in_use: used, product } = licenseStatus;
  return (
    <section class="card license">
      <header>
        <h3>{texts.slots}</h3>
        <Validity license={licenseStatus} now={now} />
      </header>
      <SlotBar used={used} total={all} />
      <p class="figures">
        <span>{overview.inUse(formatNumber(used), formatNumber(all))}</span>
        <a href={linkTo("slots", product)}>{texts.viewHolders}</a>
      </p>
      {licenseStatus.max_consumptions !== null && (
        <Consumption
          total={licenseStatus.total_consumptions}
          max={licenseStatus.max_consumptions}
        />
      )}
      {license.allow_unlimited_consumptions && (
        <p class="muted">
          {texts.consumedUnlimited(formatNumber(licenseStatus.total_consumptions))}
        </p>
      )}
      {canChange.value && (
        <a class="button" href={linkTo("licenses", "request", product)}>
          {texts.renew}
        </a>
      )}
    </section>
  );
}

function originRowsOf({
  vendor,
  serial,
  key,
  key_until,
  license_id,
  hardware_drift,
  moved_until,
  restored_until,
}: LicenseStatus): TermRows {
  const name = trustedVendors.value?.find((trusted) => trusted.vendor === vendor)?.name;
  const hardware =
    restored_until !== null && restored_until > (moved_until ?? "")
      ? texts.restored(formatDate(restored_until))
      : moved_until !== null
        ? texts.moved(formatDate(moved_until))
        : hardware_drift.length > 0
          ? texts.hardwareDrift(hardware_drift.join(", "))
          : texts.hardwareSame;
  return [
    [texts.vendor, name ?? texts.unknownVendor(vendor)],
    [texts.serial, formatNumber(serial)],
    [texts.key, texts.keyUntil(key, formatDate(key_until))],
    [texts.id, String(license_id)],
    [texts.hardware, hardware],
  ];
}
