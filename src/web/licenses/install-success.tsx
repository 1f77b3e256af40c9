import { linkTo } from "../router.ts";
import { addLicense } from "./add-license-texts.ts";
import type { InstallOutcome } from "./install-document.ts";
import type { License } from "./license.ts";
import { terms } from "./terms-texts.ts";
import { validityTextOf } from "./terms.ts";

/** A license that was just installed. */
export type InstalledOutcome = Extract<InstallOutcome, { readonly kind: "new" | "renewed" }>;

/** The end of a wizard: what was installed, and where to go next. */
export function InstallSuccess({
  outcome,
  onDone,
}: {
  outcome: InstalledOutcome;
  onDone: () => void;
}) {
  const { license } = outcome;
  const lines = outcome.kind === "renewed" ? outcome.changes : [termsLine(license)];
  return (
    <>
      <p>
        <strong>
          {outcome.kind === "renewed"
            ? addLicense.renewed(license.product_details.product_name)
            : addLicense.installed(license.product_details.product_name)}
        </strong>
      </p>
      {lines.length === 0 ? (
        <p>{addLicense.unchanged}</p>
      ) : (
        <ul>
          {lines.map((line) => (
            <li key={line}>{line}</li>
          ))}
        </ul>
      )}
      {license.is_expired && <p class="bad">{addLicense.expiredText}</p>}
      <div class="row actions">
        <a class="button" href={linkTo("licenses", String(license.id))} onClick={onDone}>
          {addLicense.viewLicense}
        </a>
        <a class="button main" href={linkTo("licenses")} onClick={onDone}>
          {addLicense.done}
        </a>
      </div>
    </>
  );
}

const termsLine = (license: License): string =>
  addLicense.installedText(terms.slots(license.floating_users), validityTextOf(license));
