import { formatNumber } from "../format.ts";
import { serverStatus } from "../status-stream.ts";
import { Consumption, Validity } from "../overview/license-card.tsx";
import { Command } from "../parts/command.tsx";
import { SlotBar } from "../parts/slot-bar.tsx";
import { linkTo } from "../router.ts";
import { addLicense } from "./add-license-texts.ts";
import { licenses as texts } from "./licenses-texts.ts";
import { overview } from "../overview/overview-texts.ts";
import { reasonOf } from "../parts/refusal-reason.ts";
import { terms } from "./terms-texts.ts";
import { DocumentInstaller } from "./document-installer.tsx";
import { licenses } from "./license-data.ts";
import type { License, LicenseStatus } from "./license.ts";
import { borrowTextOf } from "./terms.ts";

/** All licenses, and ways to add one. */
export function LicenseList() {
  const { value: status } = serverStatus;
  if (status === null) return null;
  return (
    <>
      <h2>{texts.title}</h2>
      <div class="stack">
        {status.licenses.length === 0 ? (
          <p class="card">{texts.none}</p>
        ) : (
          <div class="cards">
            {status.licenses.map((licenseStatus) => (
              <LicenseSummary
                key={licenseStatus.license_id}
                licenseStatus={licenseStatus}
                license={licenses.value?.find(({ id }) => id === licenseStatus.license_id)}
                now={status.now}
              />
            ))}
          </div>
        )}
        <section class="card">
          <h3>{addLicense.title}</h3>
          <p>{addLicense.text}</p>
          <DocumentInstaller fileDescription={addLicense.fileDescription} />
          <Command text={addLicense.command} />
        </section>
        <section class="more-actions" aria-label={texts.moreActions}>
          <a class="card" href={linkTo("licenses", "request")}>
            <strong>{texts.request}</strong>
            <span>{texts.requestText}</span>
          </a>
          <a class="card" href={linkTo("licenses", "air-gap")}>
            <strong>{texts.airGap}</strong>
            <span>{texts.airGapText}</span>
          </a>
        </section>
      </div>
    </>
  );
}

interface LicenseSummaryProps {
  readonly licenseStatus: LicenseStatus;
  /** Undefined until it is loaded. */
  readonly license: License | undefined;
  readonly now: string;
}

function LicenseSummary({ licenseStatus, license, now }: LicenseSummaryProps) {
  const { license_id, product, floating_users: all, floating_slots_in_use: used } = licenseStatus;
  return (
    <article class={licenseStatus.refusal === null ? "card license" : "card license refused"}>
      <header>
        <h3>
          <a href={linkTo("licenses", String(license_id))}>
            {license?.product_details.product_name ?? product}
          </a>
        </h3>
        <Validity license={licenseStatus} now={now} />
      </header>
      <SlotBar used={used} total={all} />
      <p class="figures">
        <span>{overview.inUse(formatNumber(used), formatNumber(all))}</span>
        <span class="muted">
          {terms.types[licenseStatus.license_type] ?? licenseStatus.license_type}
        </span>
      </p>
      {licenseStatus.max_consumptions !== null && (
        <Consumption
          total={licenseStatus.total_consumptions}
          max={licenseStatus.max_consumptions}
        />
      )}
      {license !== undefined && (
        <p class="muted brief">
          {product}
          {" · "}
          {terms.labels.borrow.toLowerCase()} {borrowTextOf(license)}
          {" · "}
          {license.product_features.length === 0
            ? texts.noFeatures
            : texts.features(license.product_features.length)}
        </p>
      )}
      {licenseStatus.refusal !== null && (
        <p class="bad">{texts.refusal(reasonOf(licenseStatus.refusal))}</p>
      )}
    </article>
  );
}
