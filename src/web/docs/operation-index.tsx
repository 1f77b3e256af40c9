import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { docs } from "../texts/docs.ts";
import type { Operation } from "./document.ts";
import { Method } from "./method.tsx";
import { selectedOperationId, openApiDocument as read, operations } from "./state.ts";
import { searchOperations } from "./search.ts";

/** Beside the text where there is room; above it, folded, where there is not. */
const wideScreen = matchMedia("(min-width: 60rem)");

export function OperationIndex() {
  const search = useSignal("");
  const open = useSignal(wideScreen.matches);
  const id = useId();
  const hits = searchOperations(operations.value, search.value);
  const type = (event: { readonly currentTarget: HTMLInputElement }): void => {
    search.value = event.currentTarget.value;
    open.value = true;
  };
  const enter = (event: KeyboardEvent): void => {
    const [first] = hits;
    if (event.key === "Enter" && first !== undefined) location.hash = first.id;
  };
  const leave = (): void => {
    open.value = wideScreen.matches;
  };
  return (
    <div class="index">
      <div class="field" role="search">
        <label for={id}>{docs.search}</label>
        <input
          id={id}
          type="search"
          value={search.value}
          autocomplete="off"
          spellcheck={false}
          aria-describedby={`${id}-hint`}
          onInput={type}
          onKeyDown={enter}
        />
        <p class="hint" id={`${id}-hint`}>
          {docs.searchHint}
        </p>
        <p class="count" role="status">
          {hits.length === 0 ? docs.noMatches : docs.operationCount(hits.length)}
        </p>
      </div>
      <details open={open.value} onToggle={(event) => (open.value = event.currentTarget.open)}>
        <summary>{docs.index}</summary>
        <nav aria-label={docs.index} onClick={leave}>
          <a
            class="entry"
            href="#"
            aria-current={selectedOperationId.value === "" ? "page" : undefined}
          >
            {docs.introduction}
          </a>
          {read.value?.tags.map(({ name }) => (
            <OperationGroup
              key={name}
              name={name}
              hits={hits.filter(({ group }) => group === name)}
            />
          ))}
        </nav>
      </details>
    </div>
  );
}

function OperationGroup({ name, hits }: { name: string; hits: readonly Operation[] }) {
  if (hits.length === 0) return null;
  return (
    <>
      <p class="group">{docs.groups[name] ?? name}</p>
      <ul>
        {hits.map(({ id, method, path, summary }) => (
          <li key={id}>
            <a
              class="entry"
              href={`#${id}`}
              title={summary}
              aria-current={selectedOperationId.value === id ? "page" : undefined}
            >
              <Method name={method} /> <span>{shortenPath(path)}</span>
            </a>
          </li>
        ))}
      </ul>
    </>
  );
}

/** What is the same for all of a group says nothing. */
const shortenPath = (path: string): string => path.replace(/^\/api\/(?:v4|admin\/v1)\//, "");
