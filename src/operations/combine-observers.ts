import type { StoreObserver } from "../store/store-options.ts";

export const combineObservers = (...observers: readonly StoreObserver[]): StoreObserver => ({
  applied(events, state, at) {
    for (const observer of observers) observer.applied(events, state, at);
  },
  durable(events, state) {
    for (const observer of observers) observer.durable(events, state);
  },
  followed(events, state, at) {
    for (const observer of observers) observer.followed?.(events, state, at);
  },
});
