import { formatNumber } from "../format.ts";
import { serverStatus } from "../status-stream.ts";
import { Consumption, Validity } from "../overview/license-card.tsx";
import { Command } from "../parts/command.tsx";
import { SlotBar } from "../parts/slot-bar.tsx";
import { linkTo } from "../router.ts";
import { addLicense } from "../texts/add-license.ts";
import { licenses as say } from "../texts/licenses.ts";
import { overview } from "../texts/overview.ts";
import { reasonOf } from "../texts/refusals.ts";
import { terms } from "../texts/terms.ts";
import { DocumentInstaller } from "./document-installer.tsx";
import { licenses } from "./license-data.ts";
import type { License, LicenseStatus } from "./license.ts";
import { borrowTextOf } from "./terms.ts";

/** Every license at a glance, and the place to bring in another. */
export function LicenseList() {
  const { value: known } = serverStatus;
  if (known === null) return null;
  return (
    <>
      <h2>{say.title}</h2>
      <div class="stack">
        {known.licenses.length === 0 ? (
          <p class="card">{say.none}</p>
        ) : (
          <div class="cards">
            {known.licenses.map((standing) => (
              <LicenseSummary
                key={standing.license_id}
                licenseStatus={standing}
                license={licenses.value?.find(({ id }) => id === standing.license_id)}
                now={known.now}
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
        <section class="ways" aria-label={say.moreActions}>
          <a class="card" href={linkTo("licenses", "request")}>
            <strong>{say.request}</strong>
            <span>{say.requestText}</span>
          </a>
          <a class="card" href={linkTo("licenses", "air-gap")}>
            <strong>{say.airGap}</strong>
            <span>{say.airGapText}</span>
          </a>
        </section>
      </div>
    </>
  );
}

interface LicenseSummaryProps {
  readonly licenseStatus: LicenseStatus;
  /** Not there before it is read. */
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
        <span class="quiet">
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
        <p class="quiet brief">
          {product}
          {" · "}
          {terms.labels.borrow.toLowerCase()} {borrowTextOf(license)}
          {" · "}
          {license.product_features.length === 0
            ? say.noFeatures
            : say.features(license.product_features.length)}
        </p>
      )}
      {licenseStatus.refusal !== null && (
        <p class="bad">{say.refusal(reasonOf(licenseStatus.refusal))}</p>
      )}
    </article>
  );
}
