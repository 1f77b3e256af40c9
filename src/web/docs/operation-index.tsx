import { useSignal } from "@preact/signals";
import { useId } from "preact/hooks";
import { docs } from "./docs-texts.ts";
import type { Operation } from "./document.ts";
import { Method } from "./method.tsx";
import { selectedOperationId, openApiDocument, operations } from "./state.ts";
import { searchOperations } from "./search.ts";

/** On a wide screen the index is beside the text; otherwise it is above it, collapsed. */
const wideScreen = matchMedia("(min-width: 60rem)");

export function OperationIndex() {
  const search = useSignal("");
  const isOpen = useSignal(wideScreen.matches);
  const id = useId();
  const hits = searchOperations(operations.value, search.value);
  const onInput = (event: { readonly currentTarget: HTMLInputElement }): void => {
    search.value = event.currentTarget.value;
    isOpen.value = true;
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const [first] = hits;
    if (event.key === "Enter" && first !== undefined) location.hash = first.id;
  };
  const collapse = (): void => {
    isOpen.value = wideScreen.matches;
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
          onInput={onInput}
          onKeyDown={onKeyDown}
        />
        <p class="hint" id={`${id}-hint`}>
          {docs.searchHint}
        </p>
        <p class="count" role="status">
          {hits.length === 0 ? docs.noMatches : docs.operationCount(hits.length)}
        </p>
      </div>
      <details open={isOpen.value} onToggle={(event) => (isOpen.value = event.currentTarget.open)}>
        <summary>{docs.index}</summary>
        <nav aria-label={docs.index} onClick={collapse}>
          <a
            class="entry"
            href="#"
            aria-current={selectedOperationId.value === "" ? "page" : undefined}
          >
            {docs.introduction}
          </a>
          {openApiDocument.value?.tags.map(({ name }) => (
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

/** Leaves out the prefix that all paths of a group share. */
const shortenPath = (path: string): string => path.replace(/^\/api\/(?:v4|admin\/v1)\//, "");
