import type { RegistrationReply } from "../../http/routes/slots/registrations.ts";
import { admin, unwrapReply } from "../api.ts";
import { serverStatus } from "../status-stream.ts";
import { createSharedQuery } from "../use-query.ts";
import { applyChanges, newList, type SlotList } from "./slot-list.ts";

/** So that a slot that is released elsewhere disappears within a second. */
const READ_INTERVAL = 800;
/** A page in the background is not seen. */
const BACKGROUND_INTERVAL = 30_000;

/** The slots in use. Only what changed is read again. */
export const slotList = createSharedQuery<SlotList>((cancelled) => readList(cancelled), {
  watch: () => null,
  maxAge: () => (document.hidden ? BACKGROUND_INTERVAL : READ_INTERVAL),
});

/** The digest of the rules when the list was read: other rules mean other reserved slots. */
let rulesOfList: string | null = null;

async function readList(cancelled: AbortSignal): Promise<SlotList> {
  const rules = serverStatus.peek()?.rules?.digest ?? null;
  const list = slotList.data.peek();
  const query = list === null ? {} : { since: list.cursor };
  const changes = await unwrapReply(
    admin.registrations.changes.get({ query, fetch: { signal: cancelled } }),
  );
  cancelled.throwIfAborted();
  const isCurrent = list !== null && !changes.reload && rules === rulesOfList;
  if (isCurrent) return applyChanges(list, changes, Date.now());
  const registrations = await readAll(cancelled);
  rulesOfList = rules;
  return newList(registrations, changes, (list?.version ?? 0) + 2, Date.now());
}

/** Reads in slices, so that neither the server nor the page is blocked for long. */
async function readAll(cancelled: AbortSignal): Promise<readonly RegistrationReply[]> {
  const all: RegistrationReply[] = [];
  for (let after: number | null = 0; after !== null;) {
    const slice: Slice = await unwrapReply(
      admin.registrations.slice.get({
        query: { after: String(after) },
        fetch: { signal: cancelled },
      }),
    );
    cancelled.throwIfAborted();
    all.push(...slice.registrations);
    after = slice.next;
  }
  return all;
}

type Slice = NonNullable<Awaited<ReturnType<typeof admin.registrations.slice.get>>["data"]>;
