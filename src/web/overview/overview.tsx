import { serverStatus } from "../status-stream.ts";
import { EmptyState } from "../parts/empty-state.tsx";
import { linkTo } from "../router.ts";
import { overview } from "./overview-texts.ts";
import { LicenseCard } from "./license-card.tsx";
import { Demand } from "./demand.tsx";
import type { StatusReply } from "../../http/routes/health/status-schema.ts";
import { FindingList } from "../health/finding-list.tsx";
import { needsAttention } from "../health/findings.ts";

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

/** The errors and warnings, the most severe first, and a link to everything else. */
function Attention({ findings }: Pick<StatusReply, "findings">) {
  const urgent = findings.filter(needsAttention);
  const notes = findings.length - urgent.length;
  const noteLink = notes > 0 && <a href={linkTo("health")}>{overview.notes(notes)}</a>;
  if (urgent.length === 0) {
    return (
      <p class="no-attention">
        {overview.noAttention} {noteLink}
      </p>
    );
  }
  return (
    <section aria-label={overview.attention}>
      <FindingList findings={urgent} isDetailed={false} />
      <p class="note-link">
        <a href={linkTo("health")}>{overview.remedies}</a>
        {notes > 0 && <>, {noteLink}</>}
      </p>
    </section>
  );
}
