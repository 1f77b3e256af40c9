import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { formatDateTime } from "./format.ts";
import { Header, isOutdated } from "./header.tsx";
import { healthCount } from "./health/findings.ts";
import { Health } from "./health/health.tsx";
import { LostHostNotice, standbyTitle, StandbyView } from "./pair/standby-view.tsx";
import { standbyNotice } from "./pair/standby.ts";
import { PageDrop } from "./licenses/page-drop.tsx";
import { Overview } from "./overview/overview.tsx";
import { pageTitle } from "./page-title.ts";
import { Button } from "./parts/button.tsx";
import { frame } from "./parts/common-texts.ts";
import { Notice } from "./parts/notice.tsx";
import { lazyView, loadViewsWhenIdle } from "./lazy-view.tsx";
import { currentRoute, type View } from "./router.ts";
import { accessState } from "./session.ts";
import { SignIn } from "./access/sign-in.tsx";
import { signIn } from "./access/sign-in-texts.ts";
import { CreatedToken, UnclaimedLine } from "./access/unclaimed.tsx";
import { siteName } from "./site-name.ts";
import { isDiskAway, isUnreachable, serverStatus } from "./status-stream.ts";

/** The header, and the view below it. */
export const Frame = () => (
  <>
    <a class="skip" href="#view">
      {frame.skip}
    </a>
    <Header />
    <Content />
    <PageDrop />
  </>
);

function Content() {
  const ref = useRef<HTMLElement>(null);
  const { view, params } = currentRoute.value;
  // For slots and the audit log, the rest of the address is a filter within the same screen.
  const isScreen = view === "licenses" || view === "settings";
  const screen = isScreen ? [view, ...params].join("/") : view;
  // Moving the focus tells a screen reader that the view has changed. Scrolling shows the view from
  // its top, below the header bar and not behind it. Both happen with the view, not after it is
  // shown: by then the user may have moved the focus or scrolled.
  useLayoutEffect(() => {
    if (ref.current?.contains(document.activeElement) === false) {
      ref.current.focus({ preventScroll: true });
    }
    scrollTo(0, 0);
  }, [screen]);
  const { value: standby } = standbyNotice;
  const isOpen = accessState.value === "open" && standby === null;
  const viewTitle = isOpen ? frame.views[view] : signIn.title;
  const title = standby === null ? viewTitle : standbyTitle(standby);
  const fullTitle = pageTitle(title, siteName.value, isOpen ? healthCount.value : 0);
  useLayoutEffect(() => {
    document.title = fullTitle;
  }, [fullTitle]);
  return (
    <main class={isOutdated.value ? "view outdated" : "view"} id="view" ref={ref} tabIndex={-1}>
      {standby !== null && <StandbyView notice={standby} />}
      {standby === null && (isOpen ? <SignedInView view={view} /> : <NotSignedIn />)}
    </main>
  );
}

function NotSignedIn() {
  if (accessState.value !== "unknown") return <SignIn />;
  if (isDiskAway.value) return <DiskAwayNotice />;
  return isUnreachable.value ? <p class="muted">{frame.noAnswerYet}</p> : null;
}

/** These say themselves that no credential is needed. */
const SAYS_UNCLAIMED: ReadonlySet<View> = new Set(["overview", "health", "settings"]);

function SignedInView({ view }: { view: View }) {
  const { value: status } = serverStatus;
  const firstVersion = useRef<string | null>(null);
  useEffect(loadViewsWhenIdle, []);
  if (isDiskAway.value && status === null) return <DiskAwayNotice />;
  if (status === null) return isUnreachable.value && <p class="muted">{frame.noAnswerYet}</p>;
  firstVersion.current ??= status.version;
  return (
    <>
      {firstVersion.current !== status.version && <UpgradeNotice version={status.version} />}
      {status.kind === "demo" && <p class="demo">{frame.demo}</p>}
      {status.moved_away_at !== null && (
        <Notice kind="bad">{frame.movedAway(formatDateTime(status.moved_away_at))}</Notice>
      )}
      {isDiskAway.value && <DiskAwayNotice />}
      {isUnreachable.value && <LostHostNotice />}
      <CreatedToken />
      {!SAYS_UNCLAIMED.has(view) && <UnclaimedLine />}
      <CurrentView view={view} />
    </>
  );
}

const DiskAwayNotice = () => (
  <Notice kind="bad" title={frame.diskAway}>
    <p>{frame.diskAwayText}</p>
  </Notice>
);

/** A page of the old version may not fit the replies of the new one. */
const UpgradeNotice = ({ version }: { version: string }) => (
  <Notice kind="note" title={frame.upgraded(version)}>
    <Button onClick={() => location.reload()}>{frame.reload}</Button>
  </Notice>
);

const AuditLog = lazyView(async () => (await import("./audit/audit-log.tsx")).AuditLog);
const Licenses = lazyView(async () => (await import("./licenses/licenses.tsx")).Licenses);
const Queue = lazyView(async () => (await import("./queue/queue.tsx")).Queue);
const Reports = lazyView(async () => (await import("./usage/reports.tsx")).Reports);
const Rules = lazyView(async () => (await import("./rules/rules.tsx")).Rules);
const Settings = lazyView(async () => (await import("./settings/settings.tsx")).Settings);
const Slots = lazyView(async () => (await import("./slots/slots.tsx")).Slots);

function CurrentView({ view }: { view: View }) {
  switch (view) {
    case "overview":
      return <Overview />;
    case "licenses":
      return <Licenses />;
    case "slots":
      return <Slots />;
    case "queue":
      return <Queue />;
    case "rules":
      return <Rules />;
    case "reports":
      return <Reports />;
    case "audit":
      return <AuditLog />;
    case "health":
      return <Health />;
    case "settings":
      return <Settings />;
    default:
      return null;
  }
}
