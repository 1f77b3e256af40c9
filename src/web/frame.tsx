import { useLayoutEffect, useRef } from "preact/hooks";
import { formatDateTime } from "./format.ts";
import { Licenses } from "./licenses/licenses.tsx";
import { isConnected, serverStatus, stopWatchingStatus } from "./status-stream.ts";
import { Overview } from "./overview/overview.tsx";
import { Notice } from "./parts/notice.tsx";
import { AuditLog } from "./audit-log/audit-log.tsx";
import { linkTo, currentRoute, VIEWS, type View } from "./router.ts";
import { accessState, signOut, token } from "./session.ts";
import { Settings } from "./settings/settings.tsx";
import { SignIn } from "./sign-in/sign-in.tsx";
import { Slots } from "./slots/slots.tsx";
import { UnclaimedNotice } from "./sign-in/unclaimed.tsx";
import { frame } from "./parts/common-texts.ts";
import { ThemeButton } from "./theme.tsx";

/** The header and navigation of every screen, with the connection status. */
export function Frame() {
  return (
    <>
      <a class="skip" href="#view">
        {frame.skip}
      </a>
      <header class="bar">
        <h1 class="brand">{frame.product}</h1>
        {accessState.value === "open" && <Navigation />}
        <div class="tools">
          {accessState.value === "open" && <ConnectionStatus />}
          <a href="/api/v4/docs">{frame.docs}</a>
          <ThemeButton />
          {token.value !== null && (
            <button type="button" class="button" onClick={handleSignOut}>
              {frame.signOut}
            </button>
          )}
        </div>
      </header>
      <Content />
    </>
  );
}

function handleSignOut(): void {
  stopWatchingStatus();
  signOut();
}

const Navigation = () => (
  <nav aria-label={frame.navigation}>
    {VIEWS.map((view) => (
      <a
        key={view}
        href={linkTo(view)}
        aria-current={currentRoute.value.view === view ? "page" : undefined}
      >
        {frame.views[view]}
      </a>
    ))}
  </nav>
);

const ConnectionStatus = () => (
  <span class={isConnected.value ? "live" : "live lost"} role="status">
    {isConnected.value ? frame.live : frame.connectionLost}
  </span>
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
    document.title = `${frame.views[view]} · ${frame.product}`;
  }, [screen]);
  return (
    <main class="view" id="view" ref={ref} tabIndex={-1}>
      {accessState.value === "open" ? (
        <SignedInView view={view} />
      ) : (
        accessState.value !== "unknown" && <SignIn />
      )}
    </main>
  );
}

function SignedInView({ view }: { view: View }) {
  const { value: status } = serverStatus;
  if (status === null) return null;
  return (
    <>
      {status.kind === "demo" && <p class="demo">{frame.demo}</p>}
      {status.moved_away_at !== null && (
        <Notice kind="bad">{frame.movedAway(formatDateTime(status.moved_away_at))}</Notice>
      )}
      {status.kind === "site" && <UnclaimedNotice />}
      <CurrentView view={view} />
    </>
  );
}

function CurrentView({ view }: { view: View }) {
  switch (view) {
    case "overview":
      return <Overview />;
    case "licenses":
      return <Licenses />;
    case "slots":
      return <Slots />;
    case "audit":
      return <AuditLog />;
    case "settings":
      return <Settings />;
    default:
      return null;
  }
}
