import { docs } from "../texts/docs.ts";
import type { Operation } from "./document.ts";
import { Prose } from "./prose.tsx";
import { treeOf, type Node } from "./tree.ts";

/** What a success looks like. */
export function Reply({ reply }: { reply: Operation["reply"] }) {
  if (reply === null) return <p>{docs.empty}</p>;
  if (reply.type === "text/plain") return <p>{docs.word(String(reply.schema.const))}</p>;
  if (reply.schema.format === "binary") return <p>{docs.fileOf(reply.type)}</p>;
  const whole = treeOf(reply.schema);
  const isStream = reply.type === "application/x-ndjson";
  return (
    <>
      <p class="quiet">{isStream ? docs.lines : whole.type}</p>
      <Parts nodes={whole.children} />
    </>
  );
}

const Parts = ({ nodes }: { nodes: readonly Node[] }) => (
  <ul class="parts">
    {nodes.map((node) => (
      <li key={node.name}>
        <code class="name">{node.name}</code> <span class="type">{node.type}</span>
        {node.optional && <span class="quiet">{` · ${docs.optional}`}</span>}
        {node.description !== "" && (
          <p>
            <Prose text={node.description} />
          </p>
        )}
        {node.children.length > 0 && (
          <details>
            <summary>{docs.parts(node.name)}</summary>
            <Parts nodes={node.children} />
          </details>
        )}
      </li>
    ))}
  </ul>
);
