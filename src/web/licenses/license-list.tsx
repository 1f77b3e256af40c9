import { signal } from "@preact/signals";
import type { StatusReply } from "../../http/routes/health/status-schema.ts";
import { berthCommand } from "../commands.ts";
import { formatNumber } from "../format.ts";
import { serverStatus } from "../status-stream.ts";
import { Consumption, Validity } from "../overview/license-card.tsx";
import { CliCommands } from "../parts/cli-commands.tsx";
import { frame } from "../parts/common-texts.ts";
import { EmptyState } from "../parts/empty-state.tsx";
import { Field } from "../parts/field.tsx";
import { Segments } from "../parts/segments.tsx";
import { SlotBar } from "../parts/slot-bar.tsx";
import { recall, remember } from "../remembered.ts";
import { linkTo } from "../router.ts";
import { canChange } from "../session.ts";
import { addLicense } from "./add-license-texts.ts";
import { licenses as texts } from "./licenses-texts.ts";
import { overview } from "../overview/overview-texts.ts";
import { reasonOf } from "../../faults/rule-reasons.ts";
import { terms } from "./terms-texts.ts";
import { DocumentInstaller } from "./document-installer.tsx";
import { findOpenRequest, licenseLoadError, licenses, trustedVendors } from "./license-data.ts";
import { filterByEnd, makeLicenseRows, parseDays } from "./license-rows.ts";
import { LicenseTable } from "./license-table.tsx";
import { licenseTable as tableTexts } from "./license-table-texts.ts";
import { OpenRequests } from "../requests/open-requests.tsx";
import { ageTextOf } from "../requests/request-row.ts";
import { requests } from "../requests/requests-texts.ts";
import type { License, LicenseStatus } from "./license.ts";
import { borrowTextOf } from "./terms.ts";

/** From so many licenses on, the table is shown first. */
const TABLE_FROM = 6;
const LAYOUTS = ["table", "cards"] as const;
/** In days. */
const COMMON_PERIODS = [30, 60, 90];
const LAYOUT_NAME = "licenses.layout";

/** The layout that the reader chose; null: it depends on the number of licenses. */
const chosenLayout = signal<string | null>(recall(LAYOUT_NAME));
const withinDays = signal("");

/** All licenses, open requests, and ways to add a license. */
export function LicenseList() {
  const { value: status } = serverStatus;
  if (status === null) return null;
  // The status lacks some columns: shown without them, the list would move when they arrive.
  if (licenses.value === null && licenseLoadError.value === "") {
    return (
      <>
        <h2>{texts.title}</h2>
        <p class="muted loading">{frame.loading}</p>
      </>
    );
  }
  return (
    <>
      <h2>{texts.title}</h2>
      <div class="stack">
        {status.licenses.length === 0 ? <NoLicenses /> : <Licenses status={status} />}
        <OpenRequests now={status.now} />
        {canChange.value && <AddLicense isMain={status.licenses.length > 0} />}
        {canChange.value && status.licenses.length > 0 && <MoreActions />}
      </div>
    </>
  );
}

const AddLicense = ({ isMain }: { isMain: boolean }) => (
  <section class="card">
    <h3>{addLicense.title}</h3>
    <p>{addLicense.text}</p>
    <DocumentInstaller fileDescription={addLicense.fileDescription} isMain={isMain} />
    <CliCommands commands={[berthCommand(addLicense.command)]} />
  </section>
);

const MoreActions = () => (
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
);

function NoLicenses() {
  const hasVendor = (trustedVendors.value ?? []).length > 0;
  if (!canChange.value) return <EmptyState title={texts.none} />;
  return (
    <EmptyState title={texts.none} text={hasVendor ? texts.noneText : texts.noVendorText}>
      <a class="button main" href={linkTo("licenses", "request")}>
        {texts.request}
      </a>
      <a class="button" href={linkTo("licenses", "air-gap")}>
        {texts.airGap}
      </a>
    </EmptyState>
  );
}

function Licenses({ status }: { status: StatusReply }) {
  const vendorNames = new Map(
    (trustedVendors.value ?? []).map(({ vendor, name }) => [vendor, name]),
  );
  const rows = makeLicenseRows(status.licenses, licenses.value ?? [], vendorNames);
  const days = parseDays(withinDays.value);
  const shown = filterByEnd(rows, days, status.now);
  const shownIds = new Set(shown.map(({ id }) => id));
  const isTable =
    (chosenLayout.value ?? (rows.length >= TABLE_FROM ? "table" : "cards")) === "table";
  return (
    <>
      <ListTools isTable={isTable} shown={shown.length} all={rows.length} />
      {shown.length === 0 && days !== null ? (
        <p class="card">{tableTexts.noneWithin(days)}</p>
      ) : isTable ? (
        <LicenseTable rows={shown} now={status.now} />
      ) : (
        <div class="cards">
          {status.licenses
            .filter(({ license_id }) => shownIds.has(license_id))
            .map((licenseStatus) => (
              <LicenseSummary
                key={licenseStatus.license_id}
                licenseStatus={licenseStatus}
                license={licenses.value?.find(({ id }) => id === licenseStatus.license_id)}
                now={status.now}
              />
            ))}
        </div>
      )}
    </>
  );
}

function ListTools({ isTable, shown, all }: { isTable: boolean; shown: number; all: number }) {
  return (
    <div class="license-tools">
      <Segments
        label={tableTexts.layout}
        options={LAYOUTS.map((layout) => [layout, tableTexts[layout]] as const)}
        selected={isTable ? "table" : "cards"}
        onSelect={chooseLayout}
      />
      <Field label={tableTexts.within} type="number" value={withinDays} />
      <Segments
        label={tableTexts.choices}
        options={[
          ["", tableTexts.all],
          ...COMMON_PERIODS.map((days) => [String(days), tableTexts.withinDays(days)] as const),
        ]}
        selected={withinDays.value}
        onSelect={(days) => (withinDays.value = days)}
      />
      <span class="muted" role="status">
        {tableTexts.count(formatNumber(shown), formatNumber(all))}
      </span>
    </div>
  );
}

function chooseLayout(layout: "table" | "cards"): void {
  chosenLayout.value = layout;
  remember(LAYOUT_NAME, layout);
}

interface LicenseSummaryProps {
  readonly licenseStatus: LicenseStatus;
  /** Undefined until it is loaded. */
  readonly license: License | undefined;
  readonly now: string;
}

function LicenseSummary({ licenseStatus, license, now }: LicenseSummaryProps) {
  const { license_id, product, floating_users: all, floating_slots_in_use: used } = licenseStatus;
  const request = findOpenRequest(product);
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
      {request !== undefined && <p class="muted">{requests.pending(ageTextOf(request, now))}</p>}
      {licenseStatus.refusal !== null && (
        <p class="bad">{texts.refusal(reasonOf(licenseStatus.refusal))}</p>
      )}
    </article>
  );
}
