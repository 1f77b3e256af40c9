import { render } from "preact";

const root = document.querySelector("#page");
if (root !== null) render(<main class="view">…</main>, root);
