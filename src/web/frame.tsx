import { useEffect, useRef } from "preact/hooks";
import { when } from "./format.ts";
import { Licenses } from "./licenses/licenses.tsx";
import { connected, status, stopWatching } from "./live.ts";
import { Overview } from "./overview/overview.tsx";
import { Notice } from "./parts/notice.tsx";
import { RecordView } from "./record/record.tsx";
import { linkTo, place, VIEWS, type View } from "./router.ts";
import { door, signOut, token } from "./session.ts";
import { Settings } from "./settings/settings.tsx";
import { SignIn } from "./sign-in/sign-in.tsx";
import { Slots } from "./slots/slots.tsx";
import { Unclaimed } from "./sign-in/unclaimed.tsx";
import { frame } from "./texts/frame.ts";
import { ThemeButton } from "./theme.tsx";

/** What is on every screen: where one is, whether it is true, and the way to the rest. */
export function Frame() {
  return (
    <>
      <a class="skip" href="#view">
        {frame.skip}
      </a>
      <header class="bar">
        <h1 class="brand">{frame.product}</h1>
        {door.value === "open" && <Navigation />}
        <div class="tools">
          {door.value === "open" && <Liveness />}
          <a href="/api/v4/docs">{frame.docs}</a>
          <ThemeButton />
          {token.value !== null && (
            <button type="button" class="button" onClick={leave}>
              {frame.signOut}
            </button>
          )}
        </div>
      </header>
      <Content />
    </>
  );
}

function leave(): void {
  stopWatching();
  signOut();
}

const Navigation = () => (
  <nav aria-label={frame.navigation}>
    {VIEWS.map((view) => (
      <a
        key={view}
        href={linkTo(view)}
        aria-current={place.value.view === view ? "page" : undefined}
      >
        {frame.views[view]}
      </a>
    ))}
  </nav>
);

const Liveness = () => (
  <span class={connected.value ? "live" : "live lost"} role="status">
    {connected.value ? frame.live : frame.lost}
  </span>
);

function Content() {
  const ref = useRef<HTMLElement>(null);
  const { view, rest } = place.value;
  // Of slots and the audit log, the rest of an address is a choice within the screen.
  const isScreen = view === "licenses" || view === "settings";
  const screen = isScreen ? [view, ...rest].join("/") : view;
  // A screen reader is told that the view has changed by being taken there; whoever looks begins at
  // its top, which is below the bar and not behind it.
  useEffect(() => {
    if (ref.current?.contains(document.activeElement) === false) {
      ref.current.focus({ preventScroll: true });
    }
    scrollTo(0, 0);
    document.title = `${frame.views[view]} · ${frame.product}`;
  }, [screen]);
  return (
    <main class="view" id="view" ref={ref} tabIndex={-1}>
      {door.value === "open" ? <Open view={view} /> : door.value !== "unknown" && <SignIn />}
    </main>
  );
}

function Open({ view }: { view: View }) {
  const { value: known } = status;
  if (known === null) return null;
  return (
    <>
      {known.kind === "demo" && <p class="demo">{frame.demo}</p>}
      {known.moved_away_at !== null && (
        <Notice kind="bad">{frame.movedAway(when(known.moved_away_at))}</Notice>
      )}
      {known.kind === "site" && <Unclaimed />}
      <Shown view={view} />
    </>
  );
}

function Shown({ view }: { view: View }) {
  switch (view) {
    case "overview":
      return <Overview />;
    case "licenses":
      return <Licenses />;
    case "slots":
      return <Slots />;
    case "audit":
      return <RecordView />;
    case "settings":
      return <Settings />;
    default:
      return null;
  }
}
