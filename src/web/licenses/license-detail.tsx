import { formatDate, formatNumber } from "../format.ts";
import { serverStatus } from "../status-stream.ts";
import { Consumption, Validity } from "../overview/license-card.tsx";
import { Facts } from "../parts/facts.tsx";
import { Notice } from "../parts/notice.tsx";
import { SlotBar } from "../parts/slot-bar.tsx";
import { linkTo } from "../router.ts";
import { licenses as say } from "../texts/licenses.ts";
import { overview } from "../texts/overview.ts";
import { reasonOf } from "../texts/refusals.ts";
import { Features } from "./features.tsx";
import { ReturnLicense } from "./return-license.tsx";
import { LicenseHistory } from "./license-history.tsx";
import { licenses, trustedVendors } from "./license-data.ts";
import type { License, LicenseStatus } from "./license.ts";
import { termsOf, type TermRows } from "./terms.ts";

/** One license, all of it. */
export function LicenseDetail({ id }: { id: number }) {
  const { value: known } = serverStatus;
  const standing = known?.licenses.find(({ license_id }) => license_id === id);
  const license = licenses.value?.find((one) => one.id === id);
  // Just installed, it may be known by one and not yet by the other.
  const isComing = standing !== undefined && license === undefined;
  if (known === null || licenses.value === null || isComing) return null;
  return (
    <>
      <p class="way-back">
        <a href={linkTo("licenses")}>← {say.back}</a>
      </p>
      {standing === undefined || license === undefined ? (
        <>
          <h2>{say.title}</h2>
          <p class="card">{say.notInstalled}</p>
        </>
      ) : (
        <LicenseDetailContent license={license} licenseStatus={standing} now={known.now} />
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
          <p>{say.refusal(reasonOf(licenseStatus.refusal))}</p>
          <a href={linkTo("licenses", "request", licenseStatus.product)}>{say.renew}</a>
        </Notice>
      )}
      <div class="one-license">
        <div class="stack">
          <SlotUsage licenseStatus={licenseStatus} license={license} now={now} />
          <section class="card">
            <h3>{say.terms}</h3>
            <Facts as="lines" facts={termsOf(license)} />
          </section>
          <Features features={license.product_features} />
        </div>
        <div class="stack">
          <section class="card">
            <h3>{say.origin}</h3>
            <Facts as="lines" facts={originRowsOf(licenseStatus)} />
          </section>
          <LicenseHistory id={license.id} serial={licenseStatus.serial} />
          <ReturnLicense licenseStatus={licenseStatus} />
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
        <h3>{say.slots}</h3>
        <Validity license={licenseStatus} now={now} />
      </header>
      <SlotBar used={used} total={all} />
      <p class="figures">
        <span>{overview.inUse(formatNumber(used), formatNumber(all))}</span>
        <a href={linkTo("slots", product)}>{say.viewHolders}</a>
      </p>
      {licenseStatus.max_consumptions !== null && (
        <Consumption
          total={licenseStatus.total_consumptions}
          max={licenseStatus.max_consumptions}
        />
      )}
      {license.allow_unlimited_consumptions && (
        <p class="quiet">{say.consumedUnlimited(formatNumber(licenseStatus.total_consumptions))}</p>
      )}
      <a class="button" href={linkTo("licenses", "request", product)}>
        {say.renew}
      </a>
    </section>
  );
}

function originRowsOf({
  vendor,
  serial,
  license_id,
  hardware_drift,
  moved_until,
}: LicenseStatus): TermRows {
  const name = trustedVendors.value?.find((one) => one.vendor === vendor)?.name;
  const hardware =
    moved_until !== null
      ? say.moved(formatDate(moved_until))
      : hardware_drift.length > 0
        ? say.hardwareDrift(hardware_drift.join(", "))
        : say.hardwareSame;
  return [
    [say.vendor, name ?? say.unknownVendor(vendor)],
    [say.serial, formatNumber(serial)],
    [say.id, String(license_id)],
    [say.hardware, hardware],
  ];
}
