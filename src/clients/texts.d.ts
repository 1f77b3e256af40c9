/** Files that are embedded as text: `import text from "./berth.py" with { type: "text" }`. */
declare module "*.py" {
  const text: string;
  export default text;
}

declare module "*.h" {
  const text: string;
  export default text;
}

declare module "*.c" {
  const text: string;
  export default text;
}

declare module "*.mjs" {
  const text: string;
  export default text;
}

declare module "*.yml" {
  const text: string;
  export default text;
}
