import { serverStatus } from "../status-stream.ts";
import { linkTo } from "../router.ts";
import { overview } from "../texts/overview.ts";
import { Attention } from "./attention.tsx";
import { Health } from "./health.tsx";
import { LicenseCard } from "./license-card.tsx";
import { Usage } from "./usage.tsx";

/** What an operator wants to know at a glance. */
export function Overview() {
  const { value: known } = serverStatus;
  if (known === null) return null;
  return (
    <>
      <h2>{overview.title}</h2>
      <Attention status={known} />
      {known.licenses.length === 0 ? (
        <section class="card empty">
          <h3>{overview.noLicense.title}</h3>
          <p>{overview.noLicense.text}</p>
          <div class="row">
            <a class="button main" href={linkTo("licenses", "request")}>
              {overview.noLicense.request}
            </a>
            <a class="button" href={linkTo("licenses")}>
              {overview.noLicense.add}
            </a>
          </div>
        </section>
      ) : (
        <>
          <div class="cards">
            {known.licenses.map((license) => (
              <LicenseCard key={license.license_id} license={license} now={known.now} />
            ))}
          </div>
          <Usage />
        </>
      )}
      <Health status={known} />
    </>
  );
}
