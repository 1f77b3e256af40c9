// The same screen as different people have it before them.
import { check } from "../faults/rig.ts";
import type { Opened } from "./opened.ts";

const SIZES = { desk: { width: 1280, height: 800 }, phone: { width: 390, height: 844 } } as const;
const SCHEMES = ["light", "dark"] as const;

/** On a desk and in a hand, in light and in dark: usable, and never wider than the screen. */
export async function checkLooks(opened: Opened, name: string): Promise<void> {
  const { page } = opened;
  for (const [size, viewport] of Object.entries(SIZES)) {
    await page.setViewportSize(viewport);
    for (const colorScheme of SCHEMES) {
      await page.emulateMedia({ colorScheme });
      await opened.checkAccess(`${name}, ${size}, ${colorScheme}`);
      await opened.picture(`${name}-${size}-${colorScheme}`);
    }
    const over = await page.evaluate<number>(
      "document.documentElement.scrollWidth - document.documentElement.clientWidth",
    );
    check(`${name}, ${size}: no wider than the screen`, over <= 0, over);
  }
  await page.setViewportSize(SIZES.desk);
  await page.emulateMedia({ colorScheme: "light" });
}
