import { Fragment } from "preact";
import { berthCommand } from "../commands.ts";
import { CopyButton } from "./button.tsx";

/** A command line to copy. One of Berth gets what it needs on this server: sudo, path, --data. */
export function Command({ text }: { text: string }) {
  const command = /^(?:sudo )?berth /.test(text) ? berthCommand(text) : text;
  return (
    <div class="command">
      <code>
        {command.split(" ").map((word, index) => (
          <Fragment key={index}>
            {index > 0 && " "}
            <span class="word">{word}</span>
          </Fragment>
        ))}
      </code>
      <CopyButton text={command} />
    </div>
  );
}
