import { useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { errorMessageOf } from "../api.ts";
import { Notice } from "../parts/notice.tsx";
import { docs } from "./docs-texts.ts";
import { frame } from "../parts/common-texts.ts";
import { readMeta } from "../page-meta.ts";
import { pageTitle } from "../page-title.ts";
import { ThemeButton } from "../theme.tsx";
import { OperationIndex } from "./operation-index.tsx";
import { OperationPage } from "./operation-page.tsx";
import {
  selectedOperationId,
  openApiDocument,
  operations,
  loadDocument,
  saveDocument,
} from "./state.ts";
import { clientLifecycle } from "./client-lifecycle-texts.ts";
import { commonRefusals } from "./document.ts";
import { Prose } from "./prose.tsx";
import { Refusals } from "./refusals.tsx";

const siteName = readMeta("berth-site");

/** The API documentation: the index of operations, and the selected operation. */
export function Docs() {
  const loadError = useSignal("");
  const main = useRef<HTMLElement>(null);
  useEffect(
    () => void loadDocument().catch((error) => (loadError.value = errorMessageOf(error))),
    [],
  );
  const skip = (event: Event): void => {
    // The hash of the address selects the operation: the link must not change it.
    event.preventDefault();
    main.current?.focus();
  };
  return (
    <>
      <a class="skip" href="#view" onClick={skip}>
        {frame.skip}
      </a>
      <header class="bar">
        <div class="brand">
          <h1>{frame.product}</h1>
          {siteName !== "" && (
            <span class="site-name" title={siteName}>
              {siteName}
            </span>
          )}
        </div>
        <span class="muted">{docs.title}</span>
        <div class="tools">
          {openApiDocument.value !== null && (
            <button type="button" class="button" aria-label={docs.save} onClick={saveDocument}>
              {docs.document}
            </button>
          )}
          <a href="/">{docs.operatorPage}</a>
          <ThemeButton />
        </div>
      </header>
      <div class="docs">
        {openApiDocument.value !== null && <OperationIndex />}
        <main class="view" id="view" ref={main} tabIndex={-1}>
          {loadError.value !== "" && (
            <Notice kind="bad" title={docs.failed}>
              {loadError.value}
            </Notice>
          )}
          {openApiDocument.value !== null && <SelectedOperation mainRef={main} />}
        </main>
      </div>
    </>
  );
}

function SelectedOperation({ mainRef }: { mainRef: { readonly current: HTMLElement | null } }) {
  const isFirst = useRef(true);
  const operation = operations.value.find(({ id }) => id === selectedOperationId.value);
  const title = operation?.summary ?? docs.introduction;
  useLayoutEffect(() => {
    document.title = pageTitle(title, siteName, 0);
    // Another operation was selected: show it from its top and move the focus there.
    if (!isFirst.current) {
      scrollTo(0, 0);
      mainRef.current?.focus({ preventScroll: true });
    }
    isFirst.current = false;
  }, [selectedOperationId.value]);
  if (operation === undefined) return <Introduction />;
  return <OperationPage key={operation.id} operation={operation} />;
}

const PLANES = ["open", "client", "login", "admin"] as const;

/** What applies to every call. */
function Introduction() {
  if (openApiDocument.value === null) return null;
  const { info } = openApiDocument.value;
  return (
    <article class="stack">
      <header>
        <h2>{docs.introduction}</h2>
        <p>{docs.basics.call}</p>
        <p class="address">
          <code>{location.origin}</code>
        </p>
        <p>{docs.basics.body}</p>
        <p>
          <Prose text={info.description} />
        </p>
      </header>
      <section class="card">
        <h3>{docs.basics.lifecycle}</h3>
        <dl class="planes">
          {clientLifecycle.map(([situation, action]) => (
            <div key={situation}>
              <dt>
                <Prose text={situation} />
              </dt>
              <dd>
                <Prose text={action} />
              </dd>
            </div>
          ))}
        </dl>
      </section>
      <section class="card">
        <h3>{docs.basics.access}</h3>
        <dl class="planes">
          {PLANES.map((plane) => (
            <div key={plane}>
              <dt>{docs.planes[plane]}</dt>
              <dd>{docs.planeDescriptions[plane]}</dd>
            </div>
          ))}
        </dl>
      </section>
      <section class="card">
        <h3>{docs.basics.refusals}</h3>
        <Refusals list={commonRefusals(openApiDocument.value)} />
      </section>
    </article>
  );
}
