/**
 * How far ahead of the slowest of so many dashboards a server may go: enough that it never waits, and a few kilobytes a
 * socket, of which none falls behind. The load naps where the server does not notice (found by trying).
 */
export function fanoutPace(dashboards: number): { readonly eventsMax: number; readonly napMs: number } {
  if (dashboards < 100) return { eventsMax: 512, napMs: 0 }
  if (dashboards < 1_000) return { eventsMax: 512, napMs: 2 }
  if (dashboards < 5_000) return { eventsMax: 128, napMs: 2 }
  return { eventsMax: 64, napMs: 0 }
}
