import type { StatusReply } from "../../http/routes/health/status-schema.ts";
import { FindingList } from "../health/finding-list.tsx";
import { needsAttention } from "../health/findings.ts";
import { linkTo } from "../router.ts";
import { overview } from "./overview-texts.ts";

/** The errors and warnings, the most severe first, and a link to everything else. */
export function Attention({ findings }: Pick<StatusReply, "findings">) {
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
