import { docs } from "../texts/docs.ts";
import type { ReplyKind } from "./document.ts";
import { Prose } from "./prose.tsx";
import { treeOf, type Node } from "./tree.ts";

/** What a success looks like; where it can look different ways, one after the other. */
export function Replies({ kinds }: { kinds: readonly ReplyKind[] }) {
  if (kinds.length === 0) return <p>{docs.empty}</p>;
  return (
    <>
      {kinds.map((kind, index) => (
        <Reply key={index} kind={kind} />
      ))}
    </>
  );
}

function Reply({ kind: { type, schema } }: { kind: ReplyKind }) {
  const [word, ...otherWords] = schema.enum ?? [];
  if (word !== undefined && otherWords.length === 0) return <p>{docs.word(word)}</p>;
  if (schema.format === "binary") return <p>{docs.fileOf(type)}</p>;
  const whole = treeOf(schema);
  const isStream = type === "application/x-ndjson";
  return (
    <>
      <p class="quiet">{isStream ? docs.lines : whole.type}</p>
      {whole.description !== "" && (
        <p>
          <Prose text={whole.description} />
        </p>
      )}
      {whole.children.length > 0 && <Parts nodes={whole.children} />}
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
