import { serverStatus } from "../status-stream.ts";
import { EmptyState } from "../parts/empty-state.tsx";
import { linkTo } from "../router.ts";
import { overview } from "./overview-texts.ts";
import { Attention } from "./attention.tsx";
import { LicenseCard } from "./license-card.tsx";
import { Demand } from "./demand.tsx";

/** The first view: alerts, licenses, use and denied demand. */
export function Overview() {
  const { value: status } = serverStatus;
  if (status === null) return null;
  return (
    <>
      <h2>{overview.title}</h2>
      <Attention findings={status.findings} />
      {status.licenses.length === 0 ? (
        <EmptyState title={overview.noLicense.title} text={overview.noLicense.text}>
          <a class="button main" href={linkTo("licenses", "request")}>
            {overview.noLicense.request}
          </a>
          <a class="button" href={linkTo("licenses")}>
            {overview.noLicense.add}
          </a>
        </EmptyState>
      ) : (
        <>
          <div class="cards">
            {status.licenses.map((license) => (
              <LicenseCard key={license.license_id} license={license} now={status.now} />
            ))}
          </div>
          <Demand />
        </>
      )}
    </>
  );
}
