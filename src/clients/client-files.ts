import javascriptModule from "./berth.js" with { type: "text" };
// @ts-expect-error the compiler refuses to import declarations as a value; here they are a text
import declarations from "./berth.d.ts" with { type: "text" };
import c from "./berth.h" with { type: "text" };
import python from "./berth.py" with { type: "text" };
import cExample from "./examples/app.c" with { type: "text" };
import javascriptExample from "./examples/app.mjs" with { type: "text" };
import pythonExample from "./examples/app.py" with { type: "text" };

/** A file that the executable contains, for developers of applications. */
export interface ClientFile {
  /** The name under which an application includes or imports it. */
  readonly file: string;
  readonly text: string;
}

interface Client {
  readonly client: ClientFile;
  readonly example: ClientFile;
}

/** The compiler takes the texts of these two files for modules. */
function requireText(value: unknown): string {
  if (typeof value !== "string") throw new TypeError("a client file is not embedded as a text");
  return value;
}

const exampleInJavascript: ClientFile = { file: "app.mjs", text: javascriptExample };

/** By language. */
export const CLIENTS: Readonly<Record<string, Client>> = {
  python: {
    client: { file: "berth.py", text: python },
    example: { file: "app.py", text: pythonExample },
  },
  c: { client: { file: "berth.h", text: c }, example: { file: "app.c", text: cExample } },
  javascript: {
    client: { file: "berth.js", text: requireText(javascriptModule) },
    example: exampleInJavascript,
  },
  // The types of berth.js, which an application in TypeScript needs beside it.
  typescript: {
    client: { file: "berth.d.ts", text: requireText(declarations) },
    example: exampleInJavascript,
  },
};
