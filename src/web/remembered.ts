/** Small choices of the reader that outlive the tab. Where storage is denied, they end with it. */

const PREFIX = "berth.";

export function remember(name: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(PREFIX + name);
    else localStorage.setItem(PREFIX + name, value);
  } catch {
    // The browser denies storage, or it is full: the choice holds until the tab is closed.
  }
}

export function recall(name: string): string | null {
  try {
    return localStorage.getItem(PREFIX + name);
  } catch {
    return null;
  }
}
