import { clientLifecycle } from "./client-lifecycle-texts.ts";
import { docs } from "./docs-texts.ts";
import { commonRefusals } from "./document.ts";
import { openApiDocument } from "./state.ts";
import { Prose } from "./prose.tsx";
import { Refusals } from "./refusals.tsx";

const PLANES = ["open", "client", "login", "admin"] as const;

/** What applies to every call. */
export function Introduction() {
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
