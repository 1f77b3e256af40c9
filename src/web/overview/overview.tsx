import { serverStatus } from "../status-stream.ts";
import { linkTo } from "../router.ts";
import { overview } from "./overview-texts.ts";
import { Attention } from "./attention.tsx";
import { Health } from "./health.tsx";
import { LicenseCard } from "./license-card.tsx";
import { Usage } from "./usage.tsx";

/** The first view: alerts, licenses, usage and health. */
export function Overview() {
  const { value: status } = serverStatus;
  if (status === null) return null;
  return (
    <>
      <h2>{overview.title}</h2>
      <Attention status={status} />
      {status.licenses.length === 0 ? (
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
            {status.licenses.map((license) => (
              <LicenseCard key={license.license_id} license={license} now={status.now} />
            ))}
          </div>
          <Usage />
        </>
      )}
      <Health status={status} />
    </>
  );
}
