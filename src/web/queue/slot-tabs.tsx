import { formatNumber } from "../format.ts";
import { currentRoute, linkTo } from "../router.ts";
import { countWaiting } from "./queue-status.ts";
import { queue } from "./queue-texts.ts";

/** Leads from the slots in use to the users who wait for one, and back; the product stays. */
export function SlotTabs() {
  const { view, params } = currentRoute.value;
  const product = params[0] ?? "";
  const rest = product === "" ? [] : [product];
  const waiting = countWaiting(product);
  return (
    <nav class="tabs" aria-label={queue.tabs.label}>
      <a href={linkTo("slots", ...rest)} aria-current={view === "slots" ? "page" : undefined}>
        {queue.tabs.slots}
      </a>
      <a href={linkTo("queue", ...rest)} aria-current={view === "queue" ? "page" : undefined}>
        {queue.tabs.queue}
        {waiting > 0 && <span class="tab-count"> {formatNumber(waiting)}</span>}
      </a>
    </nav>
  );
}
