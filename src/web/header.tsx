import { computed } from "@preact/signals";
import { AccountMenu } from "./account-menu.tsx";
import { formatShort } from "./format.ts";
import { frame } from "./parts/common-texts.ts";
import { currentRoute, linkTo, VIEWS, type View } from "./router.ts";
import { accessState } from "./session.ts";
import { healthCount } from "./health/findings.ts";
import { standbyNotice } from "./pair/standby.ts";
import { siteName } from "./site-name.ts";
import { isConnected, lastContactAt, serverStatus } from "./status-stream.ts";

/** Which server this is, where the reader is, whether the figures are current, and the menu. */
export const Header = () => (
  <header class="bar">
    <div class="brand">
      <h1>{frame.product}</h1>
      {siteName.value !== "" && (
        <span class="site-name" title={siteName.value}>
          {siteName.value}
        </span>
      )}
    </div>
    {hasViews.value && <Navigation />}
    <div class="tools">
      {hasViews.value && <ConnectionStatus />}
      <AccountMenu />
    </div>
  </header>
);

/** A host that does not lead its pair shows none. */
const hasViews = computed(() => accessState.value === "open" && standbyNotice.value === null);

const Navigation = () => (
  <nav aria-label={frame.navigation}>
    {VIEWS.filter((view) => view !== "queue").map((view) => (
      <a key={view} href={linkTo(view)} aria-current={isCurrent(view) ? "page" : undefined}>
        <ViewName name={frame.views[view]} />
        {view === BADGE_VIEW && <Badge />}
      </a>
    ))}
  </nav>
);

/** On a phone, there is room for the first word of a name only. */
function ViewName({ name }: { name: string }) {
  const [first, ...more] = name.split(" ");
  return (
    <>
      {first}
      {more.length > 0 && <span class="more"> {more.join(" ")}</span>}
    </>
  );
}

/** The queue is beside the slots: their view leads to it. */
const isCurrent = (view: View): boolean =>
  currentRoute.value.view === view || (view === "slots" && currentRoute.value.view === "queue");

const BADGE_VIEW: View = "health";

function Badge() {
  const { value: count } = healthCount;
  if (count === 0) return null;
  return (
    <span class="badge">
      <span aria-hidden="true">{count}</span>
      <span class="visually-hidden"> {frame.findings(count)}</span>
    </span>
  );
}

/** Whether the figures on the page are outdated, because the connection is lost. */
export const isOutdated = computed(
  () => !isConnected.value && serverStatus.value !== null && standbyNotice.value === null,
);

function ConnectionStatus() {
  if (isConnected.value) {
    return (
      <span class="live" role="status">
        {frame.live}
      </span>
    );
  }
  const { value: asOf } = lastContactAt;
  return (
    <span class="live lost" role="status">
      <span>
        {serverStatus.value === null ? frame.connecting : frame.reconnecting}
        {asOf !== null && serverStatus.value !== null && (
          <span class="as-of"> {frame.asOf(formatShort(new Date(asOf).toISOString()))}</span>
        )}
      </span>
    </span>
  );
}
