import { effect } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import type { AuditPageReply } from "../../http/routes/audit-log.ts";
import { admin, done } from "../api.ts";
import { when } from "../format.ts";
import { status } from "../live.ts";
import { Button } from "../parts/button.tsx";
import { Loaded } from "../parts/loaded.tsx";
import { place } from "../router.ts";
import { record } from "../texts/record.ts";
import { Chain } from "./chain.tsx";
import { Entries } from "./entries.tsx";
import { Export } from "./export.tsx";
import { isEverything, isOpenEnded, queryOf, readFilter, type Filter } from "./filter.ts";
import { Filters } from "./filters.tsx";
import { Reading } from "./reading.ts";

/** What happened, for whoever wants to know and for whoever wants proof. */
export function RecordView() {
  const filter = readFilter(place.value.rest);
  return (
    <>
      <h2>{record.title}</h2>
      <p class="quiet">{record.about}</p>
      <div class="row record-tools">
        <Export />
        <Chain />
      </div>
      <Filters filter={filter} />
      <List key={JSON.stringify(filter)} filter={filter} />
    </>
  );
}

const askRecord = (query: Record<string, string>): Promise<AuditPageReply> =>
  done(admin.audit.get({ query }));

function List({ filter }: { filter: Filter }) {
  const top = useRef<HTMLDivElement>(null);
  const reading = useMemo(() => new Reading(askRecord, queryOf(filter)), []);
  useEffect(() => follow(reading, filter, () => isAtTop(top.current)), []);
  return (
    <section class="card record" aria-label={record.list}>
      <div ref={top} />
      <Fresh reading={reading} onShow={() => top.current?.scrollIntoView({ block: "center" })} />
      <Loaded ask={() => reading.older()}>
        {() => (
          <>
            <Entries events={reading.events.value ?? []} />
            <End reading={reading} isFiltered={!isEverything(filter)} />
          </>
        )}
      </Loaded>
    </section>
  );
}

/** New events come in by themselves while the newest are looked at; else somebody asks for them. */
function follow(reading: Reading, filter: Filter, isLookedAt: () => boolean): () => void {
  let seen: number | null = null;
  return effect(() => {
    const seq = status.value?.storage.audit_seq ?? null;
    // Asked once more when the first page is there: something may have happened meanwhile.
    if (reading.events.value === null || seq === seen || !isOpenEnded(filter, Date.now())) return;
    seen = seq;
    reading.newer().then(
      () => isLookedAt() && reading.show(),
      // Said already where the connection is shown; the next change asks again.
      () => null,
    );
  });
}

const isAtTop = (top: HTMLElement | null): boolean =>
  top !== null && top.getBoundingClientRect().top >= 0;

function Fresh({ reading, onShow }: { reading: Reading; onShow: () => void }) {
  const { length: count } = reading.waiting.value;
  const show = (): void => {
    reading.show();
    onShow();
  };
  return (
    <div class="fresh" role="status">
      {count > 0 && (
        <button type="button" class="button main" onClick={show}>
          ↑ {record.fresh(count)}
        </button>
      )}
    </div>
  );
}

function End({ reading, isFiltered }: { reading: Reading; isFiltered: boolean }) {
  const { length: count } = reading.events.value ?? [];
  const { value: reached } = reading.reached;
  if (reading.next.value === null) {
    const nothing = isFiltered ? record.nothingFound : record.nothing;
    return <p class="quiet end">{count === 0 ? nothing : record.beginning}</p>;
  }
  return (
    <div class="row end">
      <Button onClick={() => reading.older()}>{count === 0 ? record.further : record.older}</Button>
      {reached !== null && <span class="quiet">{record.lookedBackTo(when(reached))}</span>}
    </div>
  );
}
